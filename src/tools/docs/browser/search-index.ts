import MiniSearch from "minisearch";
import type { SearchRecord } from "../search-records.ts";

const HAN = /\p{Script=Han}/u;

/**
 * The words of a text: those between blanks and signs, `kefu_id` also as `kefu` and `id`; Chinese, which has no blanks, in pairs of
 * characters.
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

/** The index of the places of the docs; a search gives the best first. */
export function searchIndex(records: SearchRecord[]) {
  const index = new MiniSearch<SearchRecord & { id: number }>({
    fields: ["title", "page", "text", "words"],
    storeFields: ["url", "page", "title", "text", "weight", "lang"],
    tokenize: wordsOf,
    processTerm: (term) => term,
    searchOptions: {
      boost: { title: 4, page: 2, words: 3 },
      // One Chinese character is a word, and begins the pairs that it stands in.
      prefix: (term) => term.length > 2 || HAN.test(term),
      // A slip in a long word; numbers and Chinese have none.
      fuzzy: (term) => (/^[a-z]{6,}$/.test(term) ? 0.2 : false),
      combineWith: "OR",
      boostDocument: (_id, _term, stored) => Number(stored?.weight ?? 1),
    },
  });
  index.addAll(records.map((record, id) => ({ id, ...record })));
  return index;
}
