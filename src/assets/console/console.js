// What a page is better for with a script; everything works without it.

for (const button of document.querySelectorAll("button[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const source = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.textContent = button.dataset.done;
    } catch {
      // No clipboard here: the text is marked, to be copied by hand.
      getSelection().selectAllChildren(source);
    }
  });
}

const waiting = document.querySelectorAll("[data-until]");
const countDown = () => {
  for (const element of waiting) {
    const left = Math.max(0, Math.floor(Number(element.dataset.until) - Date.now() / 1000));
    const parts = [left / 3600, (left / 60) % 60, left % 60].map((part) => String(Math.floor(part)).padStart(2, "0"));
    element.textContent = `(${parts.join(":")})`;
  }
};
if (waiting.length > 0) setInterval(countDown, 1000);

// A double click sends a form once: the answer to the first may be the only one to show a secret.
for (const form of document.querySelectorAll("form[method=post]")) {
  let sentAt = -Infinity;
  form.addEventListener("submit", (event) => {
    if (event.timeStamp - sentAt < 3000) event.preventDefault();
    else sentAt = event.timeStamp;
  });
}
