// Keys. A page says with attributes what they act on:
//   data-rows       on a <tbody> or a list: `j` and `k` move a cursor from child to child. The cursor is the focus, on the
//                   first link of a row, so Enter opens it; `h` and `l` move between the links of a row. The row has
//                   aria-current="true".
//   data-key="x"    on a button, link or field: the key `x` presses it, or puts the cursor into the field. Where a page
//                   has rows, the one in the row of the cursor counts, then any outside of rows; else the first on the page.
// `/` goes to the search field, `?` opens the list of keys. No key acts while somebody types, or with Ctrl, Alt or Meta,
// and all of them can be turned off in that list, in which `?` and `/` are included.
"use strict";

const OFF = "evalmark-keys-off";
const aloud = document.getElementById("aloud");
const hint = document.getElementById("keys-hint");
let current = null;
let help = null;
let quiet = 0;
let isLeaving = false;

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
  if (isLeaving || isOff() || isTyping(event.target) || document.querySelector("dialog[open]")) return;
  const isLetter = /^[a-z]$/i.test(event.key);
  if (isLetter && event.shiftKey) return;
  if (pressed(isLetter ? event.key.toLowerCase() : event.key, event)) event.preventDefault();
});

// While another page is on its way, a key would still act on this one.
document.addEventListener("submit", (event) => setTimeout(() => (isLeaving = !event.defaultPrevented && event.target.method === "post")));
window.addEventListener("pageshow", () => (isLeaving = false));

// The cursor follows the focus, however that came into a row.
document.addEventListener("focusin", (event) => mark(rowOf(event.target) ?? current));
document.addEventListener("evalmark:said", (event) => say(event.detail));
hint.hidden = false;
for (const said of document.querySelectorAll(".by-key")) said.hidden = isOff();
hint.addEventListener("click", open);

function pressed(key, event) {
  const every = rows();
  if (key === "?") open();
  else if (key === "/") return into(document.querySelector("input[type=search]"));
  else if (every.length && (key === "j" || key === "k")) step(every, key === "j" ? 1 : -1, event.repeat);
  else if (key === "h" || key === "l") return aside(key === "l" ? 1 : -1);
  else if (key === "Enter") return current !== null && document.activeElement === document.body && enter();
  else return act(key, every.length > 0);
  return true;
}

function rows() {
  return [...document.querySelectorAll("[data-rows] > *")].filter((row) => row.querySelector("a[href]"));
}

function rowOf(place) {
  return place.closest?.("[data-rows] > *") ?? null;
}

function step(every, by, isHeld) {
  const at = every.indexOf(current);
  const next = every[at < 0 ? (by > 0 ? 0 : every.length - 1) : at + by];
  if (!next) return say(by > 0 ? "This is the last row of the page." : "This is the first row of the page.");
  mark(next);
  next.querySelector("a[href]").focus({ preventScroll: true });
  const isCalm = isHeld || matchMedia("(prefers-reduced-motion: reduce)").matches;
  next.scrollIntoView({ block: "nearest", behavior: isCalm ? "auto" : "smooth" });
}

function aside(by) {
  if (!current) return false;
  const links = [...current.querySelectorAll("a[href]")];
  links[links.indexOf(document.activeElement) + by]?.focus();
  return true;
}

function enter() {
  current.querySelector("a[href]").click();
  return true;
}

function mark(row) {
  if (row === current) return;
  current?.removeAttribute("aria-current");
  row?.setAttribute("aria-current", "true");
  current = row;
}

function act(key, hasRows) {
  const wanted = `[data-key="${CSS.escape(key)}"]`;
  const beside = [...document.querySelectorAll(wanted)].filter((one) => !rowOf(one));
  if (hasRows && current?.isConnected) {
    const here = document.activeElement.closest?.("td, li")?.querySelector(wanted);
    const all = [...current.querySelectorAll(wanted)];
    if (here && all.includes(here)) return use(here);
    if (all.length > 1) return say("This row has several answers: go to one with l, then press the key again.");
    if (all.length) return use(all[0]);
  }
  if (beside.length) return use(beside[0]);
  if (hasRows && document.querySelector(wanted)) return say("Choose a row first: j and k move the cursor.");
  return false;
}

function use(found) {
  if (found.matches("input, textarea, select")) return into(found);
  if (found.matches("a[href]")) isLeaving = true;
  found.click();
  return true;
}

function into(field) {
  field?.focus();
  field?.select?.();
  return field !== null;
}

function isTyping(place) {
  return place.matches?.("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]");
}

// Said where everybody sees it, and to those who listen.
function say(text) {
  aloud.textContent = text;
  clearTimeout(quiet);
  quiet = setTimeout(() => (aloud.textContent = ""), 4000);
  return true;
}

function open() {
  if (!help) {
    help = document.getElementById("keys-help").content.firstElementChild.cloneNode(true);
    document.body.append(help);
    help.querySelector("button").addEventListener("click", () => help.close());
    help.querySelector("input").addEventListener("change", (event) => turn(event.target.checked));
  }
  help.querySelector("input").checked = !isOff();
  help.showModal();
}

// Where a browser keeps nothing, keys stay on.
function isOff() {
  try {
    return localStorage.getItem(OFF) !== null;
  } catch {
    return false;
  }
}

function turn(on) {
  try {
    on ? localStorage.removeItem(OFF) : localStorage.setItem(OFF, "1");
  } catch {
    say("This browser keeps no settings.");
  }
}
