// Makes the docs more comfortable. Everything can be read without it.

// What stands for the reader's own values in the examples. Checked, because a shell would run what a link smuggles into a command.
const OWN = { appid: /^[\w.-]{1,64}$/, agent: /^[1-9]\d{0,15}$/ };

const all = (selector) => document.querySelectorAll(selector);
const kept = (name) => {
  const asked = new URLSearchParams(location.search).get(name);
  if (asked !== null && OWN[name].test(asked)) sessionStorage.setItem(`docs.${name}`, asked);
  return sessionStorage.getItem(`docs.${name}`);
};

// Commands get the address of this deployment, so that they can be pasted unchanged.
for (const place of all("[data-origin]")) place.textContent = location.origin;

const own = Object.fromEntries(Object.keys(OWN).map((name) => [name, kept(name)]));
for (const [name, value] of Object.entries(own)) {
  if (value === null) continue;
  for (const place of all(`[data-${name}]`)) {
    place.dataset.placeholder = place.textContent;
    place.textContent = value;
  }
}
const note = document.querySelector("[data-own]");
if (note && own.appid !== null && document.querySelector("pre [data-appid]")) note.hidden = false;
document.querySelector("[data-forget]")?.addEventListener("click", () => {
  for (const name of Object.keys(OWN)) sessionStorage.removeItem(`docs.${name}`);
  for (const place of all("[data-placeholder]")) place.textContent = place.dataset.placeholder;
  note.hidden = true;
});
// The values are kept for this tab: the address is for everybody.
if (location.search !== "") history.replaceState(null, "", location.pathname + location.hash);

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

// The other language opens at the section that is being read. Its headings have the same ids.
const headings = [...all("main [id]")].filter((element) => /^H[1-3]$/.test(element.tagName));
const current = () => headings.findLast((heading) => heading.getBoundingClientRect().top < innerHeight / 3)?.id;
for (const link of all("[data-language]")) {
  link.addEventListener("click", () => {
    const id = current();
    link.hash = id === undefined || id === "top" ? location.hash : id;
  });
}

// The list beside the text marks the section that is being read, and keeps its mark in view.
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

// What is looked for stands behind the "#": browsers send that to no server.
const search = document.querySelector("[data-search]");
search?.addEventListener("submit", (event) => {
  event.preventDefault();
  const words = new FormData(search).get("q").trim();
  if (words !== "") location.assign(`${search.action}#q=${encodeURIComponent(words)}`);
});
const find = document.getElementById("find");
const typesIn = (element) => element.matches("input, textarea, select");
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || !find || typesIn(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  find.select();
  find.focus();
});

// On a phone the navigation scrolls: the reader's own place is in view.
document.querySelector(".bar nav [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });

// Addresses of the guide that this site had before.
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
