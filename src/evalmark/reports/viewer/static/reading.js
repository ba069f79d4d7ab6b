// Unfolds rows of a run page in place: the row with all of its texts replaces the one with excerpts. Without a script, the links
// lead to the page of the case. A menu closes when the reader goes elsewhere.
"use strict";

const excerpts = new WeakMap(); // the row that each unfolded row has replaced

document.addEventListener("click", async (event) => {
  const link = event.target.closest?.("a[data-unfold]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey || event.button) return;
  const row = link.closest("tr[data-id]");
  if (!row) return;
  event.preventDefault();
  if (excerpts.has(row)) return fold(row);
  if (row.getAttribute("aria-busy")) return;
  row.setAttribute("aria-busy", "true");
  try {
    const address = new URL(link.href); // long filters are not repeated in it
    const answer = await fetch(address.pathname.replace("/results/", "/rows/") + (address.search || location.search));
    const made = answer.ok && new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("tr[data-id]");
    if (!made) throw new Error(`status ${answer.status}`);
    if (row.isConnected) unfold(row, document.importNode(made, true));
  } catch {
    location.assign(link.href);
  }
  row.removeAttribute("aria-busy");
});

function unfold(row, made) {
  excerpts.set(made, row);
  exchange(row, made);
  made.querySelector("a[data-unfold]").setAttribute("aria-expanded", "true");
}

function fold(row) {
  const before = excerpts.get(row);
  exchange(row, before);
  before.scrollIntoView({ block: "nearest" });
}

// The form stays, since a label may have been given meanwhile; so does the focus.
function exchange(row, other) {
  const isCurrent = row.getAttribute("aria-current") === "true";
  const form = row.querySelector(".label");
  if (form) other.querySelector(".label")?.replaceWith(form);
  row.replaceWith(other);
  const link = other.querySelector("a.name") ?? other.querySelector("a[href]");
  if (isCurrent || document.activeElement === document.body) link.focus({ preventScroll: true });
}

document.addEventListener("click", (event) => closeMenus(event.target.closest?.("a") ? null : event.target.closest?.("[data-menu]")));
document.addEventListener("keydown", (event) => event.key === "Escape" && closeMenus(null));

function closeMenus(except) {
  for (const menu of document.querySelectorAll("[data-menu][open]")) if (menu !== except) menu.open = false;
}
