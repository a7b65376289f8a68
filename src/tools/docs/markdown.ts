import { Marked, type Token } from "marked";
import { escapeHtml } from "./page.ts";
import { fillableHtml } from "./placeholders.ts";

/** Makes the anchor of a heading as GitHub does. A repeated name gets a number. */
function slugger(): (title: string) => string {
  const usedSlugs = new Set<string>();
  return (title) => {
    const name = title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, "")
      .replaceAll(" ", "-");
    let slug = name;
    for (let number = 1; usedSlugs.has(slug); number++) slug = `${name}-${number}`;
    usedSlugs.add(slug);
    return slug;
  };
}

export interface Anchor {
  depth: number;
  anchor: string;
  title: string;
}

const lexer = new Marked();

/** The headings of a Markdown page, each with its anchor. */
export function anchorsOf(markdown: string): Anchor[] {
  const slug = slugger();
  return lexer.lexer(markdown).flatMap((token) => {
    if (token.type !== "heading") return [];
    const title = plainText(token.tokens ?? []);
    return [{ depth: Number(token.depth), anchor: slug(title), title }];
  });
}

/** The shown text of inline tokens. */
const plainText = (tokens: Token[]): string =>
  tokens
    .map((token) =>
      "tokens" in token && token.tokens ? plainText(token.tokens) : "text" in token ? token.text : token.raw,
    )
    .join("");

export interface Rendering {
  /** The address on the site of a link. */
  link: (href: string) => string;
  /** The id of a heading, by the heading's number on the page. */
  idOf: (heading: number, anchor: string) => string;
}

/** The HTML of a Markdown page. Its first heading is left out, because the page's frame shows it. */
export function renderMarkdown(markdown: string, { link, idOf }: Rendering): string {
  const slug = slugger();
  let heading = 0;
  const marked = new Marked({
    renderer: {
      heading({ depth, tokens }) {
        const id = idOf(heading++, slug(plainText(tokens)));
        if (depth === 1) return "";
        return `<h${depth} id="${escapeHtml(id)}">${this.parser.parseInline(tokens)} ${anchorLink(id)}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        return `<a href="${escapeHtml(link(href))}">${this.parser.parseInline(tokens)}</a>`;
      },
      // The pictures are in the repository only, so a link replaces each.
      image({ href, text }) {
        return `<a href="${escapeHtml(link(href))}">${escapeHtml(text)}</a>`;
      },
      code: ({ text, lang }) => codeBlock(text, lang),
      table(token) {
        const cells = (row: typeof token.header, tag: "th" | "td") =>
          row
            .map(({ text, tokens }) => [text === "" ? "td" : tag, this.parser.parseInline(tokens)])
            .map(([name, content]) => `<${name}>${content}</${name}>`)
            .join("");
        const hasHead = token.header.some(({ text }) => text !== "");
        const head = hasHead ? `<thead><tr>${cells(token.header, "th")}</tr></thead>` : "";
        const rows = token.rows.map((row) => `<tr>${cells(row, "td")}</tr>`).join("\n");
        return `<div class="scroll" tabindex="0"><table>${head}<tbody>${rows}</tbody></table></div>\n`;
      },
      checkbox: () => '<span class="box" aria-hidden="true">☐</span> ',
    },
  });
  return marked.parse(markdown, { async: false });
}

const anchorLink = (id: string) => `<a class="anchor" href="#${escapeHtml(id)}" aria-hidden="true" tabindex="-1">#</a>`;

/** A block of code. Long lines of JSON wrap, because nobody scrolls sideways to read them. */
export function codeBlock(text: string, language = ""): string {
  const wraps = ["json", "http", ""].includes(language) ? ' class="wrap"' : "";
  // Without a tabindex, the keyboard cannot reach a block that scrolls sideways.
  return `<pre tabindex="0"${wraps}><code>${fillableHtml(dimComments(text.trimEnd(), language))}</code></pre>\n`;
}

const COMMENT: Record<string, RegExp> = {
  sh: /^\s*#|(?<=\s{2})# .*$/,
  python: /^\s*#/,
  js: /^\s*\/\//,
  ts: /^\s*\/\//,
  go: /^\s*\/\//,
  java: /^\s*(?:\/\/|\/?\*\*? )/,
  php: /^\s*\/\//,
};

/** The HTML of code with dim comments: whole lines, and in a shell also the text after two blanks and a `#`. */
function dimComments(text: string, language: string): string {
  const comment = COMMENT[language];
  if (comment === undefined) return escapeHtml(text);
  return text
    .split("\n")
    .map((line) => {
      const at = line.search(comment);
      if (at === -1) return escapeHtml(line);
      return `${escapeHtml(line.slice(0, at))}<span class="comment">${escapeHtml(line.slice(at))}</span>`;
    })
    .join("\n");
}
