import MiniSearch from "minisearch";
import type { SearchRecord } from "../search-records.ts";

const HAN = /\p{Script=Han}/u;

/**
 * The words of a text. Blanks and signs separate words, and `kefu_id` gives `kefu` and `id` too. Chinese has no blanks, so it is split
 * into pairs of characters.
 */
export function wordsOf(text: string): string[] {
  const runs = text.toLowerCase().match(/\p{Script=Han}+|(?:(?!\p{Script=Han})[\p{L}\p{N}_$])+/gu) ?? [];
  return runs.flatMap((run) => {
    if (!HAN.test(run)) {
      const parts = run.split("_").filter((part) => part !== "");
      return parts.length > 1 ? [run, ...parts] : [run];
    }
    const characters = [...run];
    if (characters.length === 1) return [run];
    return characters.slice(1).map((character, index) => characters[index] + character);
  });
}

/** The index of all places in the docs. A search returns the best ones first. */
export function searchIndex(records: SearchRecord[]) {
  const index = new MiniSearch<SearchRecord & { id: number }>({
    fields: ["title", "page", "text", "words"],
    storeFields: ["url", "page", "title", "text", "weight", "lang"],
    tokenize: wordsOf,
    processTerm: (term) => term,
    searchOptions: {
      boost: { title: 4, page: 2, words: 3 },
      // A single Chinese character finds all pairs that begin with it.
      prefix: (term) => term.length > 2 || HAN.test(term),
      // A long word may have a typing error. Numbers and Chinese words must match.
      fuzzy: (term) => (/^[a-z]{6,}$/.test(term) ? 0.2 : false),
      combineWith: "OR",
      boostDocument: (_id, _term, stored) => Number(stored?.weight ?? 1),
    },
  });
  index.addAll(records.map((record, id) => ({ id, ...record })));
  return index;
}
