import { type Page, plainText } from "./page.ts";
import type { Texts } from "./texts.ts";

/** A place that the search can find: a page, or a section of one. */
export interface SearchRecord {
  url: string;
  page: string;
  /** Of the section; empty for the beginning of a page. */
  title: string;
  text: string;
}

/** Pages for operators are long, and callers seldom look for them: of their sections only the beginnings can be found. */
const MOST = { callers: 4_000, others: 300 };

/** The places of a page: its beginning, and each section under a heading with an id. */
export function recordsOf(page: Page, { link }: Texts): SearchRecord[] {
  const isForOthers = page.onlyEnglish || OTHERS.has(page.path);
  const most = isForOthers ? MOST.others : MOST.callers;
  const parts = page.body.split(/(?=<h[23]\b[^>]*\bid=")/);
  return parts.map((part, index) => {
    const [heading = "", id = "", title = ""] = /^<h[23]\b[^>]*\bid="([^"]+)"[^>]*>(.*?)<\/h[23]>/s.exec(part) ?? [];
    const text = plainText(part.slice(heading.length).replaceAll(/<\/(?:p|td|th|li|pre|h\d|dd|dt|small)>/g, " $&"));
    return {
      url: link(id === "" || index === 0 ? page.path : `${page.path}#${id}`),
      page: page.title,
      title: plainText(title).replace(/ #$/, ""),
      text: text.slice(0, most),
    };
  });
}

const OTHERS = new Set([
  "architecture",
  "decisions",
  "deploying",
  "numbers",
  "operating",
  "scale",
  "simulation",
  "threat-model",
]);
