// Saved views: names for addresses of lists of cases, kept in this browser. Without a script, the address can be bookmarked.
//   data-views   on the element that shows them, within a section that a changed filter replaces (sections.js)
"use strict";

const KEY = "evalmark-views";
const MOST = 30;
const PAGING = ["page", "after", "before", "stretch"];

render();
document.addEventListener("evalmark:replaced", render);

function render() {
  const place = document.querySelector("[data-views]");
  if (!place) return;
  const views = read();
  const query = current();
  const isSaved = views.some((view) => view.query === query);
  place.replaceChildren(...(views.length ? [list(views)] : []), ...(query && !isSaved && place.parentElement.querySelector(".chips") ? [form(query)] : []));
}

// The part of the address that selects and sorts.
function current() {
  const pairs = [...new URLSearchParams(location.search)].filter(([name]) => !PAGING.includes(name));
  return new URLSearchParams(pairs).toString();
}

function list(views) {
  const made = element("ul", { className: "chips", ariaLabel: "Saved views" });
  for (const { name, query } of views) {
    const link = element("a", { href: `${location.pathname}?${query}#cases`, textContent: name });
    if (query === current()) link.setAttribute("aria-current", "true");
    const forget = element("button", { type: "button", className: "forget", textContent: "×", ariaLabel: `Forget the view ${name}` });
    forget.addEventListener("click", () => write(read().filter((view) => view.name !== name)));
    const item = element("li", {});
    item.append(link, forget);
    made.append(item);
  }
  return made;
}

function form(query) {
  const made = element("details", { className: "save-view" });
  const field = element("input", { required: true, maxLength: 60, ariaLabel: "Name of the view", placeholder: "Name" });
  const send = element("form", {});
  send.append(field, element("button", { textContent: "Save" }));
  send.addEventListener("submit", (event) => {
    event.preventDefault();
    const name = field.value.trim();
    if (name) write([...read().filter((view) => view.name !== name), { name, query }].slice(-MOST));
  });
  made.append(element("summary", { textContent: "Save this view" }), send);
  made.addEventListener("toggle", () => made.open && field.focus());
  return made;
}

function element(name, properties) {
  return Object.assign(document.createElement(name), properties);
}

function read() {
  try {
    const views = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(views) ? views.filter((view) => typeof view?.name === "string" && typeof view?.query === "string") : [];
  } catch {
    return [];
  }
}

function write(views) {
  try {
    localStorage.setItem(KEY, JSON.stringify(views));
  } catch {
    document.dispatchEvent(new CustomEvent("evalmark:said", { detail: "This browser stores nothing: bookmark the address instead." }));
  }
  render();
}
