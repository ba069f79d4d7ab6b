// What pages do beyond links and forms. Each works without it.
"use strict";

// A label is sent by itself, and the form that comes back takes the place of the old one.
document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.matches("form[data-label]")) return;
  event.preventDefault();
  const fields = new URLSearchParams(new FormData(form, event.submitter));
  const focused = event.submitter && form.contains(document.activeElement) ? event.submitter.value : null;
  form.setAttribute("aria-busy", "true");
  const answer = await fetch(form.action, { method: "POST", body: fields, headers: { "x-evalmark-part": "1" } }).catch(() => null);
  if (!answer || !answer.ok) {
    form.submit === undefined ? location.reload() : say(form, answer ? await answer.text() : "The viewer has ended; start it again.");
    return;
  }
  const made = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("form[data-label]");
  form.replaceWith(made);
  if (focused) made.querySelector(`button[value="${CSS.escape(focused)}"]`)?.focus();
});

// What went wrong stands below the form, as text.
function say(form, page) {
  form.removeAttribute("aria-busy");
  const said = new DOMParser().parseFromString(page, "text/html").querySelector(".said")?.textContent ?? page.slice(0, 300);
  let place = form.querySelector("[role=alert]");
  if (!place) {
    place = document.createElement("p");
    place.setAttribute("role", "alert");
    place.className = "error";
    form.append(place);
  }
  place.textContent = said;
}
