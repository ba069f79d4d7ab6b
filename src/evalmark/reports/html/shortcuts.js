// Keyboard shortcuts of the viewer and of report files. Attributes of the page say what they act on:
//   data-rows       on a <tbody>, a list or a table of several <tbody>: `j` and `k` move a cursor between its visible children. The
//                   cursor is the focus on the first link or <summary> of a row, so Enter opens it, as `o` does; `h` and `l` move
//                   between the links of a row, or the steps of a timeline. The row has aria-current="true".
//   data-flip       on a row: a case that flipped; `n` and `p` go to the next and previous one.
//   data-key="x"    on a button, link or field: the key `x` presses it or focuses the field; on a table row with a tabindex: it
//                   focuses the row and opens what is folded in it. On a page with rows, the element in the current row comes
//                   first, then one outside of rows; else the first on the page.
//   data-first      on a part of a row or of the page: its elements with data-key come before others.
// `/` focuses the search field; without one it dispatches evalmark:go, for pages that search elsewhere. Esc leaves a field, `?`
// opens the list of shortcuts (assets.py). No shortcut acts while the user types, or with Ctrl, Alt or Meta; the list has a
// switch that turns all of them off.
"use strict";

const OFF = "evalmark-keys-off";
const announcement = document.getElementById("announcement");
const hint = document.getElementById("shortcuts-hint");
let current = null;
let help = null;
let quiet = 0;
let isLeaving = false;
let isOffHere = false; // for browsers that store nothing

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
  if (isLeaving || isOff() || document.querySelector("dialog[open]")) return;
  if (isTyping(event.target)) return event.key === "Escape" && event.target.blur();
  const isLetter = /^[a-z]$/i.test(event.key);
  if (isLetter && event.shiftKey) return;
  if (pressed(isLetter ? event.key.toLowerCase() : event.key, event)) event.preventDefault();
});

// While another page loads, a key would still act on this one.
document.addEventListener("submit", (event) => setTimeout(() => (isLeaving = !event.defaultPrevented && event.target.method === "post")));
window.addEventListener("pageshow", () => (isLeaving = false));

// The cursor follows the focus.
document.addEventListener("focusin", (event) => mark(rowOf(event.target) ?? current));
document.addEventListener("evalmark:said", (event) => say(event.detail));
hint.hidden = false;
for (const said of document.querySelectorAll(".by-key")) said.hidden = isOff();
hint.addEventListener("click", open);

function pressed(key, event) {
  const every = rows();
  if (key === "?") open();
  else if (key === "/") return into(document.querySelector("input[type=search]")) || !document.dispatchEvent(new CustomEvent("evalmark:go", { cancelable: true }));
  else if (every.length && (key === "j" || key === "k")) step(every, key === "j" ? 1 : -1, event.repeat);
  else if ((key === "n" || key === "p") && flips().length) toFlip(flips(), key === "n" ? 1 : -1, event.repeat);
  else if (key === "h" || key === "l") return aside(key === "l" ? 1 : -1);
  else if (key === "o" && hasCursor()) return enter(current.querySelector("[data-unfold]") ?? undefined);
  else if (key === "Enter") return hasCursor() && document.activeElement === document.body && enter();
  else return act(key, every.length > 0);
  return true;
}

function rows() {
  return [...document.querySelectorAll("[data-rows] > :not(thead, [hidden])")].filter(handle);
}

function rowOf(place) {
  return place.closest?.("[data-rows] > :not(thead)") ?? null;
}

// The element of a row that gets the focus.
function handle(row) {
  return row.querySelector("a.name") ?? row.querySelector("a[href], summary");
}

function hasCursor() {
  return current !== null && current.isConnected && !current.hidden;
}

// Without a cursor, down goes to the first visible row and up to the last row.
function step(every, by, isHeld) {
  const at = hasCursor() ? every.indexOf(current) : -1;
  const first = by > 0 ? every.find((row) => row.getBoundingClientRect().bottom > 0) : undefined;
  const next = at < 0 ? (first ?? every.at(-1)) : every[at + by];
  if (!next) return say(by > 0 ? "This is the last row of the page." : "This is the first row of the page.");
  mark(next);
  handle(next).focus({ preventScroll: true });
  show(next, isHeld);
}

// Rows taller than the window are aligned to its top; distant rows are scrolled to without animation.
function show(row, isHeld) {
  const { top, height } = row.getBoundingClientRect();
  const room = innerHeight - (parseFloat(getComputedStyle(document.documentElement).scrollPaddingBottom) || 0);
  const isCalm = isHeld || Math.abs(top) > 2 * innerHeight || matchMedia("(prefers-reduced-motion: reduce)").matches;
  row.scrollIntoView({ block: height > room ? "start" : "nearest", behavior: isCalm ? "auto" : "smooth" });
}

function flips() {
  return rows().filter((row) => "flip" in row.dataset);
}

// Go to the next or previous case that flipped, from where the cursor is, and open it; after the last one to the next page.
function toFlip(every, by, isHeld) {
  const all = rows();
  const at = hasCursor() ? all.indexOf(current) : by > 0 ? -1 : all.length;
  const next = by > 0 ? every.find((row) => all.indexOf(row) > at) : every.findLast((row) => all.indexOf(row) < at);
  if (!next) {
    const link = all.at(by > 0 ? -1 : 0) === current && document.querySelector(`.pager a[rel=${by > 0 ? "next" : "prev"}]`);
    return link ? use(link) : say(by > 0 ? "No case after this one flipped." : "No case before this one flipped.");
  }
  next.open = true;
  mark(next);
  handle(next).focus({ preventScroll: true });
  show(next, isHeld);
}

// Go between the steps of a timeline, in the current row if there are rows, or between the links of the current row.
function aside(by) {
  const place = hasCursor() ? current : document;
  const steps = [...place.querySelectorAll(".timeline .step > summary")].filter((step) => step.offsetParent);
  if (!steps.length && !hasCursor()) return false;
  const stops = steps.length ? steps : [...place.querySelectorAll("a[href]")];
  const at = stops.indexOf(document.activeElement);
  const next = stops[at + by] ?? (at < 0 && steps.length ? stops.at(-1) : undefined);
  next?.focus({ preventScroll: true });
  if (next && steps.length) show(next.closest("li"), false);
  return true;
}

function enter(found = handle(current)) {
  const row = current;
  if (found.matches("summary")) found.parentElement.addEventListener("toggle", () => show(row), { once: true });
  found.click();
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
  if (hasRows && hasCursor()) {
    const place = document.activeElement.closest?.("td, li");
    const here = place === current ? null : place?.querySelector(wanted);
    const all = [...current.querySelectorAll(wanted)];
    const first = here && all.includes(here) ? here : all.find((one) => one.closest("[data-first]"));
    if (first) return use(first);
    if (all.length && document.activeElement.matches("a.cell")) return say("This answer has nothing for this key: open it.");
    if (all.length > 1) return say("This row has several answers: go to one with l, then press the key again.");
    if (all.length) return use(all[0]);
  }
  // Without rows to move in: what is beside the focus, else in the part that the page marks with data-first.
  const near = document.activeElement.closest?.("tr, li, article")?.querySelector(wanted);
  if (near && beside.includes(near)) return use(near);
  if (beside.length) return use(beside.find((one) => one.closest("[data-first]")) ?? beside[0]);
  if (hasRows && document.querySelector(wanted)) return say(hasCursor() ? "This row has nothing for this key: open it." : "Choose a row first: j and k move the cursor.");
  return false;
}

function use(found) {
  if (found.matches("input, textarea, select")) return into(found);
  if (found.matches("tr")) return unfold(found);
  if (found.matches("a[href]:not([href^='#'])")) isLeaving = true;
  if (found.matches("summary")) {
    found.focus();
    show(found.closest("tr, li") ?? found, false);
  }
  found.click();
  return true;
}

// Focus a row, with its folded part open.
function unfold(row) {
  const folded = row.querySelector("details");
  if (folded) folded.open = true;
  row.focus({ preventScroll: true });
  show(row, false);
  return true;
}

// Focus a field, and open the <details> around it.
function into(field) {
  const folded = field?.closest("details:not([open])");
  if (folded) folded.open = true;
  field?.focus();
  field?.select?.();
  return Boolean(field);
}

function isTyping(place) {
  return place.matches?.("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]");
}

// Show a short message, which screen readers read aloud.
function say(text) {
  announcement.textContent = text;
  clearTimeout(quiet);
  quiet = setTimeout(() => (announcement.textContent = ""), 4000);
  return true;
}

function open() {
  if (!help) {
    help = document.getElementById("shortcuts-help").content.firstElementChild.cloneNode(true);
    document.body.append(help);
    help.querySelector("button").addEventListener("click", () => help.close());
    help.querySelector("input").addEventListener("change", (event) => turn(event.target.checked));
  }
  help.querySelector("input").checked = !isOff();
  help.showModal();
}

function isOff() {
  try {
    return isOffHere || localStorage.getItem(OFF) !== null;
  } catch {
    return isOffHere;
  }
}

function turn(on) {
  isOffHere = false;
  try {
    on ? localStorage.removeItem(OFF) : localStorage.setItem(OFF, "1");
  } catch {
    isOffHere = !on;
    help.querySelector("[role=status]").textContent = on ? "" : "This browser stores no settings: shortcuts are off until the page is reloaded.";
  }
}
