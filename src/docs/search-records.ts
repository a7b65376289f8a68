import { type Page, plainText } from "./page.ts";
import type { Texts } from "./texts.ts";

/** A place that the search can find: a page, or a section of one. */
export interface SearchRecord {
  url: string;
  page: string;
  /** Of the section; empty for the beginning of a page. */
  title: string;
  text: string;
  /** How much more it counts than another place with the same words. */
  weight: number;
}

/** Pages for operators are long, and callers seldom look for them: of their sections only the beginnings can be found. */
const MOST = { callers: 2_500, others: 250 };

/** The places of a page: its beginning, each section under a heading with an id, and those that it names itself. */
export function recordsOf(page: Page, { link }: Texts): SearchRecord[] {
  const isForOthers = page.onlyEnglish || OTHERS.test(page.path);
  const most = isForOthers ? MOST.others : MOST.callers;
  const weight = isForOthers ? 1 : 1.5;
  // The problems of the admin API are the same for all of its calls.
  const body = isForOthers ? page.body.replace(/<h2 id="(?:answers|refusals)">.*/s, "") : page.body;
  const parts = body.split(/(?=<h[23]\b[^>]*\bid=")/);
  const sections = parts.map((part, index) => {
    const [heading = "", id = "", title = ""] = /^<h[23]\b[^>]*\bid="([^"]+)"[^>]*>(.*?)<\/h[23]>/s.exec(part) ?? [];
    const text = plainText(part.slice(heading.length).replaceAll(BLOCK_END, " $&"));
    return {
      url: link(id === "" || index === 0 ? page.path : `${page.path}#${id}`),
      page: page.title,
      title: plainText(title).replace(/ #$/, ""),
      text: text.slice(0, most),
      weight,
    };
  });
  const places = (page.places ?? []).map(({ id, title, text }) => ({
    ...{ url: link(`${page.path}#${id}`), page: page.title, title, text, weight },
  }));
  return [...sections, ...places];
}

/** What follows it is another sentence, also where no blank stands between. */
const BLOCK_END = /<\/(?:p|td|th|li|pre|h\d|dd|dt|small)>/g;

const OTHERS =
  /^(?:architecture|decisions|deploying|numbers|operating|scale|simulation|threat-model|reference\/(?!create_gd|add_kf).*)$/;
