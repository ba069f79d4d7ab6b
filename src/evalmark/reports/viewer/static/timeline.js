// Timelines and folded parts. A link with data-jump goes to the next failed step, again and again; a button with data-unfold opens
// all steps of its section and closes them again; a link to a folded part opens it. Without a script failed steps are open, and
// the link goes to the first of them.
"use strict";

for (const button of document.querySelectorAll("button[data-unfold]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const steps = [...section(button).querySelectorAll(".step")];
    const isOpen = steps.every((step) => step.open);
    if (!isOpen && button.dataset.unfold) await load(steps, button.dataset.unfold);
    for (const step of steps) step.open = !isOpen;
    button.textContent = isOpen ? "Unfold all" : "Fold all";
  });
}

// The texts of a step that the page leaves out come when it is unfolded.
document.addEventListener("click", (event) => {
  const step = event.target.closest?.(".step > summary")?.parentElement;
  if (step && !step.open) load([step]);
});

// Fill steps from the page at an address, by default that of the first one.
async function load(steps, address) {
  const bodies = steps.map((step) => step.querySelector(":scope > .step-body > a"));
  const missing = steps.filter((step, at) => bodies[at] && !step.ariaBusy);
  if (!missing.length) return;
  for (const step of missing) step.ariaBusy = "true";
  try {
    const page = new DOMParser().parseFromString(await (await fetch(address ?? bodies[0].href)).text(), "text/html");
    for (const step of missing) {
      const same = page.getElementById(step.parentElement.id)?.querySelector(".step");
      if (same && !same.querySelector(":scope > .step-body")) step.replaceChildren(step.firstElementChild, ...[...same.childNodes].filter((node) => node !== same.firstElementChild));
    }
  } catch {
    // the links stay, and lead to the page that has them
  }
  for (const step of missing) step.ariaBusy = null;
}

// What was long and is folded again ends where it began to be.
document.addEventListener("toggle", (event) => event.target.matches?.(".fold:not([open])") && event.target.parentElement.getBoundingClientRect().top < 0 && event.target.scrollIntoView({ block: "center" }), true);

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-jump]");
  if (!link) return;
  event.preventDefault();
  const failed = [...document.querySelectorAll(".timeline > .failed")];
  const at = failed.indexOf(document.activeElement.closest(".timeline > .failed"));
  const next = failed[(at + 1) % failed.length];
  reveal(next);
  next.scrollIntoView({ block: "center", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
  (next.querySelector("summary") ?? next).focus({ preventScroll: true });
  history.replaceState(null, "", `#${next.id}`);
  const name = next.querySelector("bdi")?.textContent ?? "output";
  document.dispatchEvent(new CustomEvent("evalmark:said", { detail: `Failed step ${failed.indexOf(next) + 1} of ${failed.length}: ${name}` }));
});

window.addEventListener("hashchange", revealTarget);
revealTarget();

function revealTarget() {
  try {
    reveal(document.getElementById(decodeURIComponent(location.hash.slice(1))));
  } catch {
    // no text is encoded so, and no part has such a name
  }
}

// Open a part, what is folded in it first, and what it is folded in.
function reveal(part) {
  const inner = part?.matches("details") ? part : part?.querySelector(":scope > details, :scope > .reason > details");
  if (inner?.matches(".step") && !inner.open) load([inner]);
  if (inner) inner.open = true;
  for (let around = part?.closest("details"); around; around = around.parentElement.closest("details")) around.open = true;
}

function section(place) {
  return place.closest("section, .session-answer") ?? document;
}
