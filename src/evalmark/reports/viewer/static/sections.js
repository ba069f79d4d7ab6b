// Follows links and sends forms without loading the whole page: the address is fetched, and only some sections are replaced.
// Without a script the browser follows and sends them itself.
//   data-section="name"        a section of the page, matched by name with the new page
//   data-replace="name name"   on a form, a link or an element around links to the same page: the sections to replace
//   data-keep                  on a form in a section: its fields keep what was entered when the section is replaced
// A form is also sent while the user types or chooses. The form that the user types in stays as it is. The address of the page
// changes along, so that it can be reloaded, shared and saved; Back returns to the address before the first letter.
"use strict";

const PAUSE = 40; // milliseconds after a letter, while the reply to an earlier one is awaited
const HALF_TYPED = 800; // milliseconds without a letter, until a query that cannot be read is called wrong
let timer = 0;
let awaited = 0; // requests without a reply yet
let latest = 0; // number of the newest request; replies of earlier ones are dropped
let typedIn = null; // the form whose letters change the current address in place

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href]");
  const names = link?.closest("[data-replace]")?.dataset.replace;
  if (!names || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const address = new URL(link.href);
  if (address.origin !== location.origin || address.pathname !== location.pathname || link.hasAttribute("download")) return;
  event.preventDefault();
  typedIn = null;
  show(address, names.split(" "), { link });
});

document.addEventListener("input", (event) => {
  const form = event.target.form;
  if (form?.matches("form[data-replace]")) wait(form, awaited && event.target.matches("input") ? PAUSE : 0);
});

document.addEventListener("submit", (event) => {
  if (!event.target.matches("form[data-replace]")) return;
  event.preventDefault();
  wait(event.target, 0);
});

addEventListener("popstate", (event) => event.state?.sections && show(new URL(location), event.state.sections, { isBack: true }));

function wait(form, time) {
  clearTimeout(timer);
  timer = setTimeout(() => send(form), time);
}

function send(form) {
  const address = new URL(form.action);
  address.search = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== "")).toString();
  if (address.search === location.search) return;
  show(address, form.dataset.replace.split(" "), { form });
}

async function show(address, names, { link, form, isBack }) {
  const number = ++latest;
  awaited++;
  const sections = named(document, names).filter((section) => !form || !section.contains(form));
  for (const section of sections) section.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(address.pathname + address.search);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (number !== latest) return;
    if (!answer.ok || !named(page, names).length) return location.assign(address);
    if (!isBack) remember(address, names, form);
    const focus = place(document.activeElement, sections);
    const isUnread = page.querySelector("#query-problem") !== null;
    if (isUnread && form) {
      for (const section of sections) section.removeAttribute("aria-busy");
      await new Promise((done) => setTimeout(done, HALF_TYPED));
      if (number !== latest) return;
    }
    // A query that cannot be read leaves the list as it was: it is often half typed.
    for (const section of sections) if (!isUnread || section.dataset.section === "filters") replace(section, page);
    focus?.();
    if (link?.rel) document.querySelector(`[data-section="${names.at(-1)}"]`)?.scrollIntoView({ block: "start" });
    document.dispatchEvent(new CustomEvent("evalmark:replaced"));
  } catch {
    if (number === latest) say("The viewer does not respond. Start it again, then reload this page.");
  } finally {
    awaited--;
    for (const section of named(document, names)) if (number === latest) section.removeAttribute("aria-busy");
  }
}

function named(page, names) {
  return names.map((name) => page.querySelector(`[data-section="${CSS.escape(name)}"]`)).filter(Boolean);
}

// The first letter makes a new entry of the history, and so does each link; the letters after it change that entry.
function remember(address, names, form) {
  const isSame = form !== undefined && typedIn === form; // replies to the letters before may have been dropped
  typedIn = form ?? null;
  if (!history.state?.sections) history.replaceState({ sections: names }, "");
  history[isSame ? "replaceState" : "pushState"]({ sections: names }, "", address);
}

function replace(section, page) {
  const [fresh] = named(page, [section.dataset.section]);
  if (!fresh) return;
  const panels = (part) => [...part.querySelectorAll("details")].filter((one) => !one.closest("[data-rows]")); // rows are others now
  const open = panels(section).filter((one) => one.open).map((one) => one.className);
  for (const one of panels(fresh)) if (one.className && open.includes(one.className)) one.open = true;
  for (const field of section.querySelectorAll("[data-keep] [name]:not([type=hidden], :disabled)")) keep(field, fresh);
  section.replaceWith(document.adoptNode(fresh));
}

// Set a field of a new section to the value of the earlier field, if it can have that value.
function keep(field, fresh) {
  const same = [...fresh.querySelectorAll(`[name="${CSS.escape(field.name)}"]:not(:disabled)`)];
  if (field.type === "radio") for (const one of same) one.checked ||= field.checked && one.value === field.value;
  else if (same[0] && [...(same[0].options ?? [field])].some((one) => one.value === field.value)) same[0].value = field.value;
}

// Return a function that gives the focus back to the same element of a replaced section, or to the section.
function place(element, sections) {
  const section = sections.find((one) => one.contains(element));
  if (!section) return null;
  const words = (one) => one.textContent.replace(/[↑↓]/g, "").trim();
  const isSame = (one) => one.localName === element.localName && one.name === element.name && words(one) === words(element);
  return () => {
    const [now] = named(document, [section.dataset.section]);
    const next = [...(now?.querySelectorAll("a, button, input, select, summary") ?? [])].find(isSame) ?? now;
    if (next === now) now?.setAttribute("tabindex", "-1");
    next?.focus({ preventScroll: true });
  };
}

function say(text) {
  document.dispatchEvent(new CustomEvent("evalmark:said", { detail: text }));
}
