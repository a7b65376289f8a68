/** A page of the docs without its frame. */
export interface Page {
  /** The page's address after `/docs/` or `/docs/zh/`: `reference/create_gd`. Empty for the front page. */
  path: string;
  title: string;
  /** One sentence, for search engines. */
  description: string;
  /** The HTML between header and footer. */
  body: string;
  /** The page as it was written in Markdown. Other pages are turned into Markdown. */
  markdown?: string;
  /** The headings of the body, for the list beside the body. */
  headings: Heading[];
  /** Whether the body is in English on a Chinese page too, because it has no translation. */
  onlyEnglish?: boolean;
  /** Whether the page is wider than text should be, for tables and examples beside each other. */
  wide?: boolean;
  /** Whether the page may send nothing to any server. Such a page has no search box. */
  sealed?: boolean;
  /** Places of the page that the search finds in addition to its sections. */
  places?: SearchPlace[];
  /** The address of a script that only this page loads. */
  script?: string;
}

/** A place that is found by its title, such as an error. */
export interface SearchPlace {
  /** The id of its heading or of its row. */
  id: string;
  title: string;
  text: string;
}

export interface Heading {
  level: number;
  id: string;
  /** Plain text. */
  title: string;
}

const HEADING = /<h([23])\b[^>]*?\bid="([^"]+)"[^>]*>(.*?)<\/h\1>/gs;

/** The headings of a body that have an id, in the order of the body. */
export const headingsOf = (body: string): Heading[] =>
  [...body.matchAll(HEADING)].map(([, level, id = "", title = ""]) => ({
    level: Number(level),
    id,
    title: plainText(title),
  }));

const ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"' };

/** The text of HTML, without its tags. */
export const plainText = (html: string): string =>
  html
    .replaceAll(/<[^>]+>/g, "")
    .replaceAll(/&(?:#(\d+)|(\w+));/g, (whole, code, name) =>
      code === undefined ? (ENTITIES[name] ?? whole) : String.fromCodePoint(Number(code)),
    )
    .replaceAll(/\s+/g, " ")
    .trim();

export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"]/g, (character) => `&#${character.codePointAt(0)};`);
