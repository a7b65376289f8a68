// This script makes pages more comfortable. Everything works without it.

// The cookie gives the server the reader's time zone for later pages. The client's address may be a proxy's in another zone.
const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
// biome-ignore lint/suspicious/noDocumentCookie: the server needs the zone before any script runs.
if (timeZone) document.cookie = `__Host-zone=${timeZone}; Path=/; Max-Age=31536000; Secure; SameSite=Lax`;

const main = document.querySelector("main");
const all = (selector) => document.querySelectorAll(selector);

const showCopyButtons = () => {
  for (const button of all("button[data-copy]")) button.hidden = false;
};
showCopyButtons();

/** How long a button says that its text was copied. */
const COPIED_MS = 2_000;

async function copy(button) {
  const source = document.getElementById(button.dataset.copy);
  try {
    await navigator.clipboard.writeText(source.textContent);
  } catch {
    // Without a clipboard, the text is selected, so that the reader can copy it by hand.
    getSelection().selectAllChildren(source);
    return;
  }
  button.dataset.label ??= button.innerHTML;
  button.textContent = button.dataset.done;
  setTimeout(() => {
    button.innerHTML = button.dataset.label;
  }, COPIED_MS);
}

// Times go on by the server's clock: the reader's may be wrong.
const ahead = Number(document.body.dataset.now) - Date.now() / 1000;
const now = () => Date.now() / 1000 + ahead;

function countDown() {
  for (const element of all("[data-until]")) {
    const left = Math.max(0, Math.floor(Number(element.dataset.until) - now()));
    const parts = [left / 3600, (left / 60) % 60, left % 60].map((part) => String(Math.floor(part)).padStart(2, "0"));
    element.textContent = `(${parts.join(":")})`;
  }
}
setInterval(countDown, 1_000);

const { lang } = document.documentElement;
const relative = new Intl.RelativeTimeFormat(lang === "en" ? "en-GB" : lang, { numeric: "auto", style: "short" });

/** Says how long ago times of the last day are, as the server does: times.ts. */
function tellAgo() {
  for (const element of all("time[data-ago]")) {
    const past = now() - Date.parse(element.dateTime) / 1000;
    if (past < 0 || past >= 86_400) continue;
    const [unit, seconds] = past < 60 ? ["second", past + 1] : past < 3_600 ? ["minute", 60] : ["hour", 3_600];
    element.textContent = relative.format(-Math.floor(past / seconds), unit);
  }
}
setInterval(tellAgo, 30_000);

/** A page on which the reader waits asks again so often, and so many times. */
const ASK_AGAIN_MS = 5_000;
const MOST_TIMES = 120;

/** Whether a new content of the page would take something away from the reader. */
const isInUse = () =>
  document.hidden ||
  main.contains(document.activeElement) ||
  main.querySelector("details.menu[open]") ||
  !getSelection().isCollapsed;

async function readAgain() {
  const answer = await fetch(location.href);
  if (!answer.ok || answer.redirected || isInUse()) return;
  const newMain = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main");
  // The result of the form that began it stays, and so do parts that the reader opened.
  const result = main.querySelector(".notice.done");
  const opened = [...main.querySelectorAll("details")].map(({ open }) => open);
  main.replaceChildren(...newMain.childNodes);
  if (result) main.querySelector("h1").before(result);
  [...main.querySelectorAll("details")].forEach((details, i) => {
    details.open ||= opened[i] ?? false;
  });
  showCopyButtons();
}

async function askAgain() {
  for (let times = 0; times < MOST_TIMES && main.querySelector("[data-refresh]"); ) {
    await new Promise((done) => setTimeout(done, ASK_AGAIN_MS));
    if (isInUse()) continue;
    times++;
    await readAgain().catch(() => undefined);
  }
}
void askAgain();

// Drops the second submit of a double click, which saves a request. The server carries a form out only once in any case.
let [sentAt, sentBy] = [-Infinity, null];
document.addEventListener("submit", (event) => {
  if (event.target.method !== "post") return;
  if (event.submitter === sentBy && event.timeStamp - sentAt < 3_000) event.preventDefault();
  else [sentAt, sentBy] = [event.timeStamp, event.submitter];
});

// The result of a form is shown once. It is removed from the address, so that no bookmark and no reload shows it again.
const here = new URL(location.href);
if (here.searchParams.has("done")) {
  here.searchParams.delete("done");
  history.replaceState(null, "", here);
}

// On a phone the navigation scrolls. The link of the current page is scrolled into view.
for (const link of all(".bar nav [aria-current], .tabs [aria-current]")) {
  link.scrollIntoView({ inline: "center", block: "nearest" });
}

const search = document.getElementById("find");
const typesIn = (element) => element.matches("input, textarea, select, [contenteditable]");
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && search && !typesIn(event.target) && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    search.focus();
    search.select();
    search.scrollIntoView({ block: "center" });
  }
  if (event.key === "Escape") closeMenus(null, true);
  const menu = event.target.closest("details.menu");
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (menu && step) {
    event.preventDefault();
    menu.open = true;
    const items = [...menu.querySelectorAll("a, button")];
    const place = items.indexOf(event.target);
    items.at(place < 0 ? Math.min(step, 0) : (place + step) % items.length)?.focus();
  }
});
document.addEventListener("click", (event) => {
  closeMenus(event.target.closest("details.menu"), false);
  const button = event.target.closest("button[data-copy]");
  if (button) void copy(button);
});

function closeMenus(kept, goesBack) {
  for (const menu of all("details.menu[open]")) {
    if (menu === kept) continue;
    menu.open = false;
    if (goesBack) menu.querySelector("summary").focus();
  }
}
