// Makes the docs more comfortable. Everything can be read without this script.

// The rules of the reader's own values. A value is checked, because a shell would run a command that a link brings along.
const OWN_VALUE_RULES = { appid: /^[\w.-]{1,64}$/, agent: /^[1-9]\d{0,15}$/ };

const all = (selector) => document.querySelectorAll(selector);
const asked = new URLSearchParams(location.search);
/** The tab's store, or an object that stores nothing when the browser forbids it. */
const store = (() => {
  try {
    return sessionStorage;
  } catch {
    return { getItem: () => null, setItem() {}, removeItem() {} };
  }
})();
/** Reads the reader's own values. Those of a link stay for this tab. The agent belongs to the app's site. */
function ownValues() {
  if (OWN_VALUE_RULES.appid.test(asked.get("appid") ?? "")) {
    for (const [name, rule] of Object.entries(OWN_VALUE_RULES)) {
      const value = asked.get(name) ?? "";
      if (rule.test(value)) store.setItem(`docs.${name}`, value);
      else store.removeItem(`docs.${name}`);
    }
  }
  return Object.keys(OWN_VALUE_RULES).map((name) => [name, store.getItem(`docs.${name}`)]);
}

// Commands get the address of this deployment, so that they can be pasted unchanged.
for (const place of all("[data-origin]")) place.textContent = location.origin;

const own = ownValues();
for (const [name, value] of own) {
  if (value === null) continue;
  for (const place of all(`[data-${name}]`)) {
    place.dataset.placeholder = place.textContent;
    place.textContent = value;
  }
}
const note = document.querySelector("[data-own]");
if (note && own.some(([, value]) => value !== null) && document.querySelector("pre [data-appid]")) note.hidden = false;
document.querySelector("[data-forget]")?.addEventListener("click", () => {
  for (const name of Object.keys(OWN_VALUE_RULES)) store.removeItem(`docs.${name}`);
  for (const place of all("[data-placeholder]")) place.textContent = place.dataset.placeholder;
  note.hidden = true;
});
// The values are kept for this tab and leave the address, which people share. A search that was typed by hand moves behind the "#".
if (location.search !== "") {
  const words = asked.get("q");
  const hash = words === null ? location.hash : `#q=${encodeURIComponent(words)}`;
  history.replaceState(null, "", location.pathname + hash);
}

const { copy, copied } = document.body.dataset;
for (const block of all("pre")) {
  if (navigator.clipboard === undefined) break;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = copy;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(block.querySelector("code").textContent);
    button.textContent = copied;
    setTimeout(() => {
      button.textContent = copy;
    }, 1500);
  });
  const frame = document.createElement("div");
  frame.className = "frame";
  block.replaceWith(frame);
  frame.append(block, button);
}

// The link to the other language opens the section that is being read. Its headings have the same ids.
const headings = [...all("main [id]")].filter((element) => /^H[1-3]$/.test(element.tagName));
// A heading is at most this far from the top when a link has led to it. The next one of a short section is further.
const READ_PX = 160;
const isRead = (heading) => heading.offsetParent !== null && heading.getBoundingClientRect().top < READ_PX;
const current = () => headings.findLast(isRead)?.id;
for (const link of all("[data-language]")) {
  link.addEventListener("click", () => {
    const id = current();
    const isSearch = location.hash.startsWith("#q=");
    link.hash = isSearch || id === undefined || id === "top" ? location.hash : id;
  });
}

// The list beside the text marks the section that is being read, and scrolls to the mark.
const marks = new Map([...all(".side a[href^='#']")].map((link) => [decodeURIComponent(link.hash.slice(1)), link]));
let marked;
const mark = () => {
  const link = marks.get(current());
  if (link === marked) return;
  marked?.removeAttribute("aria-current");
  marked = link;
  link?.setAttribute("aria-current", "true");
};
if (marks.size > 0) {
  addEventListener("scroll", mark, { passive: true });
  mark();
}

// The searched words stand behind the "#", which browsers send to no server.
const find = document.getElementById("find");
const search = document.querySelector("[data-search]");
search?.addEventListener("submit", (event) => {
  event.preventDefault();
  const words = find.value.trim();
  if (words !== "") location.assign(`${search.action}#q=${encodeURIComponent(words)}`);
});
const typesIn = (element) => element.matches("input, textarea, select");
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || !find || typesIn(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  find.select();
  find.focus();
});

// On a phone the navigation scrolls. The link of the current page is scrolled into view.
document.querySelector(".bar nav [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });

// Old addresses of this site's guide, with the pages that replace them.
const MOVED = {
  sign: "integrating",
  examples: "integrating",
  retry: "retrying",
  events: "receiving",
  refusals: "errors",
};
const { pathname, hash } = location;
if (pathname === "/docs/" && hash !== "" && !document.getElementById(hash.slice(1))) {
  const target = MOVED[hash.slice(1)] ?? (/^#[a-z_]+$/.test(hash) ? `errors/${hash}` : undefined);
  if (target !== undefined) location.replace(`/docs/${target}${target.includes("#") ? "" : "/"}`);
}
