// Labels. A form is sent in the background and replaced by the one in the reply, together with the comments beside it
// (data-labels); without a script the browser sends it. The rows of a list share a form without a class: a button names its row.
"use strict";

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.matches("form[data-label]")) return;
  event.preventDefault();
  const sender = event.submitter;
  const place = form.matches(".label") ? around(form) : sender.closest(".label");
  if (place.getAttribute("aria-busy")) return;
  const fields = new URLSearchParams(new FormData(form, sender));
  const held = place.contains(document.activeElement) ? document.activeElement : null;
  place.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(form.action, { method: "POST", body: fields, headers: { "x-evalmark-part": "1" } });
    const text = await answer.text();
    const page = parsed(text);
    const made = answer.ok && page.querySelector(".label");
    if (!made) throw new Error(page.querySelector(".said")?.textContent ?? text.slice(0, 300));
    place.replaceWith(around(made));
    if (held) focus(made, sender?.matches(".visually-hidden") ? made.querySelector("button.plain") ?? held : held);
    announce(made, fields, sender);
  } catch (fault) {
    place.removeAttribute("aria-busy");
    showError(form.matches(".label") ? form : place, fault instanceof TypeError ? "Not saved: the viewer is not running. Start it again." : fault.message);
  }
});

// A field beside a radio button chooses that button.
document.addEventListener("change", (event) => {
  const choice = event.target.matches("input[type=radio]") ? null : event.target.closest(".way")?.querySelector("input[type=radio]");
  if (choice) choice.checked = true;
});

function parsed(text) {
  return new DOMParser().parseFromString(text, "text/html");
}

function around(form) {
  return form.closest("[data-labels]") ?? form;
}

// Focus the same button or field in the new form; after Enter in a field, the button that Enter pressed, so that shortcuts
// work again.
function focus(made, held) {
  const same = [...made.querySelectorAll("button, input")].find((one) => one.name === held.name && (one.type !== "submit" || one.value === held.value));
  (same ?? made.querySelector("button:not(.visually-hidden)"))?.focus();
}

function announce(made, fields, sender) {
  const what = fields.get("withdraw") ? "Withdrawn" : fields.get("liked") ? sender.ariaLabel || sender.textContent.trim() : "Saved";
  const about = made.closest("tr, li, article")?.querySelector("th > .asked, :is(th, h3, a) bdi")?.textContent;
  document.dispatchEvent(new CustomEvent("evalmark:said", { detail: about ? `${what}: ${about}` : what }));
}

// Show an error below the form, as text.
function showError(form, message) {
  let place = form.querySelector("[role=alert]");
  if (!place) {
    place = document.createElement("p");
    place.setAttribute("role", "alert");
    place.className = "error";
    form.append(place);
  }
  place.textContent = message;
}
