// On narrow screens a grid shows one column; the links above it switch the column without loading the page again.
"use strict";

const switched = document.querySelector(".column-switch [aria-current]");
if (switched) switched.closest("nav").scrollLeft = switched.offsetLeft;

document.addEventListener("click", (event) => {
  const link = event.target.closest?.(".column-switch a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const column = Number(link.dataset.column);
  for (const row of document.querySelectorAll(".grid tr")) {
    [...row.children].forEach((cell, number) => cell.classList.toggle("chosen", number === column + 1));
  }
  document.querySelector(".column-switch [aria-current]")?.removeAttribute("aria-current");
  link.setAttribute("aria-current", "true");
  history.replaceState(history.state, "", link.href);
});
