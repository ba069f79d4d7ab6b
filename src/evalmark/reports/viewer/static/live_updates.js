// Updates pages about running runs. The page is requested again with the version that it was made with, and the server replies
// once it has changed (see live_updates.py). The parts marked with data-live are then updated node by node, so that focus, scroll
// position, open details and labels being written stay. A tab that is hidden requests nothing. Without a script there is a link.
//   data-live="name"  a part of the page, matched by name with the new page
//   data-mark         on one of them: the version of the page, while something is running or being computed
//   data-pending      on one of them: its content is still being computed; without a data-mark beside it, the server cannot wait
//                     for it, so the page is requested until it is there
//   data-id           on a row: identifies it, wherever it is in the new page
"use strict";

const WAIT = 20; // seconds that the server may wait for a change
const LEAST = 1000;
const FIRST = 2000;
const MOST = 15_000;
const MOST_UNREACHABLE = 60_000;
const PATIENCE = 30 * 60_000;
const IDLE = "Nothing has changed for half an hour, so this page stopped updating. Reload it to continue.";
const UNREACHABLE = "The viewer does not respond. This page keeps trying; it shows the last known state.";

const sent = new WeakMap(); // the attributes that the server sent for each element; others were set by scripts and stay
let note = null;
let timer = 0;
let pause = FIRST;
let requested = 0;
let request = null; // aborts the request under way
let isOver = false;
let isIncomplete = false; // a part of the last reply could not be shown, so the page is requested in full
let lastChange = performance.now();

if (isFollowing()) begin();

// A filter was changed (sections.js): follow the new address, if there is something to wait for.
document.addEventListener("evalmark:replaced", () => {
  isOver = !isFollowing();
  lastChange = performance.now();
  if (note || isOver) abort();
  else begin();
});

function begin() {
  parts(document).forEach(remember);
  note = document.createElement("p");
  note.className = "note";
  note.setAttribute("role", "status");
  document.querySelector("main").append(note);
  document.addEventListener("visibilitychange", () => (document.hidden ? abort() : wait(0)));
  window.addEventListener("online", () => wait(0));
  wait(LEAST);
}

function isFollowing() {
  return document.querySelector("[data-live][data-mark], [data-live][data-pending]") !== null;
}

function parts(page) {
  return [...page.querySelectorAll("[data-live]")];
}

// One request at a time, at least a second apart.
function wait(time) {
  clearTimeout(timer);
  if (isOver || request || document.hidden) return;
  timer = setTimeout(load, Math.max(time, requested + LEAST - performance.now()));
}

// End the request under way, so that it occupies no connection.
function abort() {
  clearTimeout(timer);
  if (request) request.abort();
  else wait(LEAST);
}

async function load() {
  const own = (request = new AbortController());
  requested = performance.now();
  const mark = document.querySelector("[data-live][data-mark]")?.dataset.mark;
  const isFull = isIncomplete || !mark || document.querySelector("[data-live][data-pending]:not([data-mark])");
  try {
    const response = await fetch(location.pathname + location.search, {
      headers: isFull ? {} : { "if-none-match": `"${mark}"`, prefer: `wait=${WAIT}` },
      signal: AbortSignal.any([own.signal, AbortSignal.timeout((WAIT + 30) * 1000)]),
    });
    const text = await response.text();
    const worked = Number(/dur=(\d+)/.exec(response.headers.get("server-timing"))?.[1] ?? 0);
    if (response.status === 304) nothingNew();
    else if (response.ok) update(new DOMParser().parseFromString(text, "text/html"), mark, worked);
    else if (response.status < 500) end(response.status === 404 ? "This page no longer exists." : text);
    else unreachable();
  } catch {
    if (own.signal.aborted) pause = LEAST;
    else unreachable();
  }
  request = null;
  wait(pause);
}

// A reply that came early: too many pages wait, so this one requests the page now and then.
function nothingNew() {
  notify("");
  const isEarly = performance.now() - requested < (WAIT - 5) * 1000;
  pause = isEarly ? Math.min(Math.max(pause * 1.5, FIRST), MOST) : LEAST;
  if (performance.now() - lastChange > PATIENCE) end(IDLE);
}

function unreachable() {
  notify(UNREACHABLE);
  pause = Math.min(pause * 2, MOST_UNREACHABLE);
}

function end(reason) {
  isOver = true;
  notify(reason.slice(0, 300));
}

// Making this page takes at most a tenth of the server's time.
function update(page, mark, worked) {
  if (!parts(page).length) return unreachable(); // another program replied
  const ended = document.querySelector("[data-ended]")?.dataset.ended;
  const isNew = page.querySelector("[data-live][data-mark]")?.dataset.mark !== mark;
  isIncomplete = false;
  for (const part of parts(document)) show(part, page.querySelector(`[data-live="${CSS.escape(part.dataset.live)}"]`));
  isOver = !isFollowing() && !isIncomplete;
  if (!isNew && !isIncomplete) return nothingNew();
  lastChange = performance.now();
  pause = Math.min(Math.max(LEAST, 10 * worked), MOST);
  const isStill = document.querySelector("[data-live][data-mark]") !== null;
  notify(isStill || !ended ? "" : ended);
}

function notify(text) {
  if (note.textContent !== text) note.textContent = text;
}

function show(part, fresh) {
  if (!fresh) return;
  // Earlier content stays until the new content is computed.
  if ("pending" in fresh.dataset && !("pending" in part.dataset)) isIncomplete = true;
  else merge(part, fresh);
}

function merge(old, fresh) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  if (old.dataset?.unfolded !== undefined) return; // the reader unfolded this row (reading.js)
  const before = sent.get(old) ?? attributes(old);
  const now = attributes(fresh);
  for (const [name, value] of now) if (before.get(name) !== value) old.setAttribute(name, value);
  for (const name of before.keys()) if (!now.has(name)) old.removeAttribute(name);
  sent.set(old, now);
  // A form belongs to what its hidden fields name; its content belongs to the reader.
  if (!old.matches("form, input, textarea, select:focus")) mergeChildren(old, fresh);
}

// Nodes that stay are never moved if others only appear or disappear: a moved node loses the focus.
function mergeChildren(old, fresh) {
  const partners = matched([...old.childNodes], [...fresh.childNodes]);
  const staying = new Set(partners.values());
  const held = new Set();
  for (const node of [...old.childNodes]) {
    if (staying.has(node)) continue;
    if (!isInUse(node)) node.remove();
    else held.add(node);
  }
  if (held.size) isIncomplete = true;
  let at = old.firstChild;
  for (const node of fresh.childNodes) {
    while (held.has(at)) at = at.nextSibling;
    const partner = partners.get(node);
    if (partner && partner === at) at = at.nextSibling;
    else old.insertBefore(partner ?? imported(node), at);
    if (partner) merge(partner, node);
  }
}

// Match old and new nodes: by id, else the next one of the same kind.
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
