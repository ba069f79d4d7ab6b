// Buttons that copy a whole text from its address (data-copy), also what the page cuts. The style sheet shows them only where a script
// may write to the clipboard: on this machine, or over HTTPS.
"use strict";

if (navigator.clipboard && window.ClipboardItem) document.documentElement.classList.add("can-copy");

document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("button[data-copy]");
  if (!button) return;
  const word = (button.dataset.word ??= button.textContent);
  let done = "Copied";
  try {
    // The browser takes the text later, since it allows copying only right after the click.
    await navigator.clipboard.write([new ClipboardItem({ "text/plain": whole(button.dataset.copy) })]);
  } catch {
    done = "Not copied";
  }
  button.textContent = done;
  document.dispatchEvent(new CustomEvent("evalmark:said", { detail: `${done}: ${button.ariaLabel.replace("Copy ", "")}` }));
  setTimeout(() => (button.textContent = word), 2000);
});

async function whole(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  return new Blob([await answer.text()], { type: "text/plain" });
}
