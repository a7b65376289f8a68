import { searchIndex, wordsOf } from "./search-index.ts";

const results = document.getElementById("results");
const everything = document.getElementById("all");
const find = document.getElementById("find");

let index;
async function loaded() {
  if (index !== undefined) return index;
  const records = await (await fetch(results.dataset.index)).json();
  index = searchIndex(records);
  return index;
}

const wanted = () => decodeURIComponent(/^#q=(.*)$/s.exec(location.hash)?.[1] ?? "");
const MOST = 20;

async function show() {
  const words = wanted();
  find.value = words;
  everything.hidden = words !== "";
  if (words === "") return results.replaceChildren();
  let found;
  try {
    found = (await loaded()).search(words);
  } catch {
    return results.replaceChildren(element("p", results.dataset.failed));
  }
  if (words !== wanted()) return;
  const { none, found: count } = results.dataset;
  const text = found.length === 0 ? none.replace("{0}", words) : count.replace("{0}", Math.min(found.length, MOST));
  const list = element("ol");
  list.append(...found.slice(0, MOST).map((place) => item(place, words)));
  results.replaceChildren(element("p", text), list, elsewhere(words));
}

/** A way to look for the same in the pages of the other language. */
function elsewhere(words) {
  const link = element("a", results.dataset.elsewhere);
  link.href = `${results.dataset.other}#q=${encodeURIComponent(words)}`;
  return link;
}

function item({ url, page, title, text }, words) {
  const link = element("a", title || page);
  link.href = url;
  const made = element("li");
  made.append(link, title === "" || title === page ? "" : element("small", page), element("p", excerpt(text, words)));
  return made;
}

/** The text around the first of the words. */
function excerpt(text, words) {
  const lower = text.toLowerCase();
  const places = wordsOf(words)
    .map((word) => lower.indexOf(word))
    .filter((at) => at !== -1);
  const at = Math.max(0, Math.min(...places, text.length) - 60);
  const from = places.length === 0 ? 0 : at;
  return `${from > 0 ? "… " : ""}${text.slice(from, from + 220)}${text.length > from + 220 ? " …" : ""}`;
}

function element(name, text = "") {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

addEventListener("hashchange", show);
let waiting;
find.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    history.replaceState(null, "", `#q=${encodeURIComponent(find.value.trim())}`);
    void show();
  }, 150);
});
void show();
