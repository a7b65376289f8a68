/** A page of the docs, before its frame is put around it. */
export interface Page {
  /** Its address after `/docs/` or `/docs/zh/`: `reference/create_gd`. Empty for the front page. */
  path: string;
  title: string;
  /** One sentence, for search engines. */
  description: string;
  /** HTML of the part between header and footer. */
  body: string;
  /** The headings of the body, for the list beside it. */
  headings: Heading[];
  /** The body is in English on a Chinese page, too: nobody has translated it. */
  onlyEnglish?: boolean;
  /** Wider than text is read well: tables and examples beside each other. */
  wide?: boolean;
  /** The page may ask nothing of any server and send no form, so it has no search box. */
  sealed?: boolean;
  /** Places of the page that the search finds beside its sections. */
  places?: Place[];
  /** A script in addition to that of all pages, by its address. */
  script?: string;
}

/** A place that is found by its title: an error, for example. */
export interface Place {
  /** Of its heading, or of its row. */
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

/** The headings of a body that have an id, in its order. */
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
