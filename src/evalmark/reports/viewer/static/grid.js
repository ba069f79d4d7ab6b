// On narrow screens a grid shows one column; the links above it switch the column without loading the page again.
"use strict";

for (const link of document.querySelectorAll(".column-switch a")) {
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const column = Number(link.dataset.column);
    for (const row of document.querySelectorAll(".grid tr")) {
      [...row.children].forEach((cell, number) => cell.classList.toggle("chosen", number === column + 1));
    }
    document.querySelector(".column-switch [aria-current]")?.removeAttribute("aria-current");
    link.setAttribute("aria-current", "true");
    history.replaceState(null, "", link.href);
  });
}
