// Pages of what is under way follow it. The page is asked for again, with the mark that it was made with (web/live.py); where
// there is something new, the parts that are marked with data-live are brought up to date node by node, so that the focus,
// what is scrolled to, open details and labels that are being written stay. Without a script there is a link to look again.
//   data-live="name"  a part of the page, found by its name in the new page
//   data-mark         on one of them: the page is about something under way, and this is what it was made with
//   data-pending      on one of them: it is still being computed, so it is asked for until it is there
//   data-id           on a row: by this it is known again, wherever it stands by then
"use strict";

const LEAST = 1000;
const FIRST = 2000;
const MOST = 15_000;
const MOST_ALONE = 60_000;
const PATIENCE = 30 * 60_000;
const PATIENT = "Nothing new for half an hour, so this page looks no more. Reload it to go on.";
const GONE = "The viewer does not answer. This page tries again now and then; what it shows is what was known before.";

const sent = new WeakMap(); // of each element, the attributes that the server gave it: others are of scripts, and stay
let said = null;
let timer = 0;
let pause = FIRST;
let asked = 0;
let isAsking = false;
let isOver = false;
let isOwed = false; // something of the last answer could not be shown, so its mark does not count
let lastNews = performance.now();

if (isFollowing()) {
  parts(document).forEach(remember);
  said = document.createElement("p");
  said.className = "note";
  said.setAttribute("role", "status");
  document.querySelector("main").append(said);
  document.addEventListener("visibilitychange", () => (document.hidden ? clearTimeout(timer) : wait(0)));
  window.addEventListener("online", () => wait(0));
  wait(pause);
}

function isFollowing() {
  return document.querySelector("[data-live][data-mark], [data-live][data-pending]") !== null;
}

function parts(page) {
  return [...page.querySelectorAll("[data-live]")];
}

// One request at a time, and none within a second of the one before.
function wait(time) {
  clearTimeout(timer);
  if (isOver || isAsking || document.hidden) return;
  timer = setTimeout(look, Math.max(time, asked + LEAST - performance.now()));
}

async function look() {
  isAsking = true;
  asked = performance.now();
  const mark = document.querySelector("[data-live][data-mark]")?.dataset.mark;
  const isAnew = isOwed || !mark || document.querySelector("[data-live][data-pending]");
  try {
    const answer = await fetch(location.pathname + location.search, {
      headers: isAnew ? {} : { "if-none-match": `"${mark}"` },
      signal: AbortSignal.timeout(30_000),
    });
    if (answer.status === 304) nothingNew();
    else if (answer.ok) news(new DOMParser().parseFromString(await answer.text(), "text/html"), mark);
    else if (answer.status < 500) over(answer.status === 404 ? "This is no longer there." : await answer.text());
    else alone();
  } catch {
    alone();
  }
  isAsking = false;
  wait(pause);
}

function nothingNew() {
  say("");
  pause = Math.min(pause * 1.5, MOST);
  if (performance.now() - lastNews > PATIENCE) over(PATIENT);
}

function alone() {
  say(GONE);
  pause = Math.min(pause * 2, MOST_ALONE);
}

function over(why) {
  isOver = true;
  say(why.slice(0, 300));
}

// Looking costs the server a tenth of its time at most.
function news(page, mark) {
  if (!parts(page).length) return alone(); // somebody else answers here by now
  const ended = document.querySelector("[data-ended]")?.dataset.ended;
  const isNew = page.querySelector("[data-live][data-mark]")?.dataset.mark !== mark;
  isOwed = false;
  for (const part of parts(document)) show(part, page.querySelector(`[data-live="${CSS.escape(part.dataset.live)}"]`));
  if (!isNew && !isOwed) return nothingNew();
  lastNews = performance.now();
  pause = Math.min(Math.max(FIRST, 10 * (performance.now() - asked)), MOST);
  const isStill = document.querySelector("[data-live][data-mark]") !== null;
  say(isStill || !ended ? "" : ended);
  isOver = !isFollowing() && !isOwed;
}

function say(text) {
  if (said.textContent !== text) said.textContent = text;
}

function show(part, fresh) {
  if (!fresh) return;
  // What was worked out before is better than nothing while it is worked out anew.
  if ("pending" in fresh.dataset && !("pending" in part.dataset)) isOwed = true;
  else merge(part, fresh);
}

function merge(old, fresh) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  const before = sent.get(old) ?? attributes(old);
  const now = attributes(fresh);
  for (const [name, value] of now) if (before.get(name) !== value) old.setAttribute(name, value);
  for (const name of before.keys()) if (!now.has(name)) old.removeAttribute(name);
  sent.set(old, now);
  // A form is of the thing that its hidden fields name, and what is written in it is the reader's.
  if (!old.matches("form, input, textarea, select:focus")) mergeChildren(old, fresh);
}

// Nodes that stay are never moved where others only come or go, since a node that is moved loses the focus.
function mergeChildren(old, fresh) {
  const partners = matched([...old.childNodes], [...fresh.childNodes]);
  const staying = new Set(partners.values());
  const held = new Set();
  for (const node of [...old.childNodes]) {
    if (staying.has(node)) continue;
    if (!isInUse(node)) node.remove();
    else held.add(node);
  }
  if (held.size) isOwed = true;
  let at = old.firstChild;
  for (const node of fresh.childNodes) {
    while (held.has(at)) at = at.nextSibling;
    const partner = partners.get(node);
    if (partner && partner === at) at = at.nextSibling;
    else old.insertBefore(partner ?? imported(node), at);
    if (partner) merge(partner, node);
  }
}

// Which old node each new one is: by its id, else the next one of its kind.
function matched(old, fresh) {
  const named = new Map(old.filter(nameOf).map((node) => [nameOf(node), node]));
  const free = old.filter((node) => !nameOf(node));
  const found = new Map();
  for (const node of fresh) {
    const name = nameOf(node);
    const at = name ? -1 : free.findIndex((one) => one.nodeName === node.nodeName);
    const partner = name ? named.get(name) : free[at];
    if (partner && partner.nodeName === node.nodeName) found.set(node, partner);
    named.delete(name);
    if (at >= 0) free.splice(0, at + 1);
  }
  return found;
}

function nameOf(node) {
  if (node.nodeType !== Node.ELEMENT_NODE) return "";
  if (node.localName === "option") return `option ${node.value}`;
  if (node.localName !== "form") return node.dataset.id ?? "";
  const fields = [...node.querySelectorAll("input[type=hidden]:not([name=back])")];
  return `form ${fields.map((field) => `${field.name}=${field.value}`).join("&")}`;
}

function isInUse(node) {
  if (node.nodeType !== Node.ELEMENT_NODE) return false;
  const isWritten = (field) => field.value !== field.defaultValue || field.checked !== field.defaultChecked;
  return node.contains(document.activeElement) || [...node.querySelectorAll("input, textarea")].some(isWritten);
}

function imported(node) {
  const made = document.importNode(node, true);
  if (made.nodeType === Node.ELEMENT_NODE) remember(made);
  return made;
}

function remember(root) {
  for (const one of [root, ...root.querySelectorAll("*")]) sent.set(one, attributes(one));
}

function attributes(element) {
  return new Map([...element.attributes].map((one) => [one.name, one.value]));
}
