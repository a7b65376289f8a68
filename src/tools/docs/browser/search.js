import { searchIndex, wordsOf } from "./search-index.ts";

const results = document.getElementById("results");
const count = document.getElementById("count");
const everything = document.getElementById("all");
const find = document.getElementById("find");

let index;
async function loaded() {
  index ??= searchIndex(await (await fetch(results.dataset.index)).json());
  return index;
}

/** The searched words, which stand behind the "#". */
function typedQuery() {
  const [, words = ""] = /^#q=(.*)$/s.exec(location.hash) ?? [];
  try {
    return decodeURIComponent(words);
  } catch {
    // The address is not encoded, because somebody typed it by hand.
    return words;
  }
}

const MOST = 20;

async function show() {
  const words = typedQuery().trim();
  everything.hidden = words !== "";
  if (words === "") {
    count.textContent = "";
    return results.replaceChildren();
  }
  let found;
  try {
    found = (await loaded()).search(words);
  } catch {
    count.textContent = results.dataset.failed;
    return results.replaceChildren();
  }
  if (words !== typedQuery().trim()) return;
  const { none, found: some } = results.dataset;
  count.textContent = found.length === 0 ? none.replace("{0}", () => words) : some.replace("{0}", found.length);
  const list = element("ol");
  list.append(...found.slice(0, MOST).map((place) => item(place, words)));
  results.replaceChildren(list, otherLanguageLink(words));
}

/** A link that searches the same words in the pages of the other language. */
function otherLanguageLink(words) {
  const link = element("a", results.dataset.elsewhere);
  link.href = `${results.dataset.other}#q=${encodeURIComponent(words)}`;
  return link;
}

function item({ url, page, title, text, lang }, words) {
  const link = element("a", title || page);
  link.href = url;
  const made = element("li");
  if (lang !== undefined) made.lang = lang;
  made.append(link, title === "" || title === page ? "" : element("small", page), element("p", excerpt(text, words)));
  return made;
}

/** The part of a text around the first of the words. */
function excerpt(text, words) {
  const lower = text.toLowerCase();
  const places = wordsOf(words)
    .map((word) => lower.indexOf(word))
    .filter((at) => at !== -1);
  const from = places.length === 0 ? 0 : Math.max(0, Math.min(...places) - 60);
  return `${from > 0 ? "… " : ""}${text.slice(from, from + 220)}${text.length > from + 220 ? " …" : ""}`;
}

function element(name, text = "") {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

addEventListener("hashchange", () => {
  find.value = typedQuery();
  void show();
});
let waiting;
const typed = (event) => {
  // While an input method composes a word, the field holds a draft.
  if (event.isComposing) return;
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    history.replaceState(null, "", `#q=${encodeURIComponent(find.value)}`);
    void show();
  }, 150);
};
find.addEventListener("input", typed);
find.addEventListener("compositionend", typed);
find.value = typedQuery();
void show();
