// Shows the page of destinations (/go) over any page: Ctrl+K, or / where the page has no search field. Without a script the link
// in the header opens that page. Arrow keys move between the links, Enter opens one, Esc closes.
"use strict";

const PAUSE = 80;
let dialog = null;
let timer = 0;
let latest = 0;

document.addEventListener("evalmark:go", (event) => (event.preventDefault(), open()));
document.addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || event.key.toLowerCase() !== "k") return;
  event.preventDefault();
  dialog?.open ? dialog.close() : open();
});
document.addEventListener("click", (event) => {
  if (!event.target.closest?.("a.go") || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  open();
});

async function open() {
  if (document.querySelector("dialog[open]")) return;
  dialog = document.createElement("dialog");
  dialog.className = "palette";
  dialog.setAttribute("aria-label", "Go to");
  document.body.append(dialog);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("keydown", move);
  dialog.addEventListener("input", (event) => wait(event.target.value));
  dialog.addEventListener("submit", (event) => (event.preventDefault(), dialog.querySelector("li a")?.click()));
  dialog.addEventListener("click", (event) => (event.target === dialog || event.target.closest("a")) && dialog.close());
  dialog.showModal();
  await load("");
}

function wait(text) {
  clearTimeout(timer);
  timer = setTimeout(() => load(text), PAUSE);
}

async function load(words) {
  const number = ++latest;
  let found = null;
  try {
    const answer = await fetch(`/go?${new URLSearchParams({ q: words, at: location.pathname + location.search + location.hash })}`);
    found = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("[data-palette]");
  } catch {
    // the message below
  }
  if (number !== latest || !dialog.open) return;
  if (!found) return dialog.replaceChildren("The viewer does not respond. Start it again, then reload this page.");
  const list = dialog.querySelector("[data-section]");
  if (list) return list.replaceWith(document.adoptNode(found.querySelector("[data-section]")));
  found.querySelector("form").removeAttribute("data-replace"); // it does not change the address of this page
  dialog.replaceChildren(document.adoptNode(found));
  dialog.querySelector("input").focus();
  copyable(dialog.querySelector(".share"));
}

document.querySelectorAll("p.command").forEach(copyable);

// A button that copies the command of a paragraph.
function copyable(share) {
  if (!share || !navigator.clipboard) return;
  const button = Object.assign(document.createElement("button"), { type: "button", className: "plain", textContent: "Copy" });
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(share.querySelector("code").textContent);
    button.textContent = "Copied";
  });
  share.append(" ", button);
}

function move(event) {
  const links = [...dialog.querySelectorAll("li a")];
  const field = dialog.querySelector("input[type=search]");
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.key === "Escape") {
    event.preventDefault(); // else the first Esc only empties the field
    return dialog.close();
  }
  if (!field || event.ctrlKey || event.metaKey || event.altKey) return;
  if (by) {
    event.preventDefault();
    const next = links.indexOf(document.activeElement) + by;
    (next < 0 ? field : links[Math.min(next, links.length - 1)])?.focus();
  } else if (event.key.length === 1 && document.activeElement.matches("a") && event.key !== " ") field.focus(); // the letter goes there
}
