// This script makes pages more comfortable. Everything works without it.

// The cookie gives the server the reader's time zone for later pages. The client's address may be a proxy's in another zone.
const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
// biome-ignore lint/suspicious/noDocumentCookie: the server needs the zone before any script runs.
if (timeZone) document.cookie = `__Host-zone=${timeZone}; Path=/; Max-Age=31536000; Secure; SameSite=Lax`;

for (const button of document.querySelectorAll("button[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const source = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.textContent = button.dataset.done;
    } catch {
      // Without a clipboard, the text is selected, so that the reader can copy it by hand.
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

// Drops the second submit of a double click, which saves a request. The server carries a form out only once in any case.
for (const form of document.querySelectorAll("form[method=post]")) {
  let [sentAt, sentBy] = [-Infinity, null];
  form.addEventListener("submit", (event) => {
    if (event.submitter === sentBy && event.timeStamp - sentAt < 3000) event.preventDefault();
    else [sentAt, sentBy] = [event.timeStamp, event.submitter];
  });
}

// The result of a form is shown once. It is removed from the address, so that no bookmark and no reload shows it again.
const here = new URL(location.href);
if (here.searchParams.has("done")) {
  here.searchParams.delete("done");
  history.replaceState(null, "", here);
}

// On a phone the navigation scrolls. The link of the current page is scrolled into view.
for (const link of document.querySelectorAll(".bar nav [aria-current], .tabs [aria-current]")) {
  link.scrollIntoView({ inline: "center", block: "nearest" });
}

const search = document.getElementById("find");
const typesIn = (element) => element.matches("input, textarea, select, [contenteditable]");
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && search && !typesIn(event.target) && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    search.select();
    search.focus();
  }
  if (event.key === "Escape") closeMenus(null, true);
});
document.addEventListener("click", (event) => closeMenus(event.target.closest("details.menu"), false));

function closeMenus(kept, goesBack) {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (menu === kept) continue;
    menu.open = false;
    if (goesBack) menu.querySelector("summary").focus();
  }
}
