import Turndown from "turndown";
import type { Page } from "./page.ts";
import { LANGUAGES, type Language, linkTo } from "./texts.ts";

/** The address of a page as Markdown: that of the page with `.md` in place of the last slash. */
export const markdownAddress = (language: Language, { path }: Pick<Page, "path">): string =>
  `/${LANGUAGES[language].folder}/${path === "" ? "index" : path}.md`;

/** A page as Markdown. When the page was not written in Markdown, its HTML is turned into it. Links lead to addresses of the site. */
export function pageMarkdown(language: Language, { path, title, body, markdown }: Page): string {
  if (markdown !== undefined) return markdown;
  const html = body.replaceAll('href="#', `href="${linkTo(language, path)}#`);
  return `# ${title}\n\n${turndown.turndown(html)}\n`;
}

/** What the rules look at of an element. */
interface Element {
  nodeName: string;
  className: string;
  textContent: string;
  children: { length: number };
  parentNode: Element;
  previousSibling: unknown;
  closest: (selector: string) => Element;
  querySelector: (selector: string) => Element | undefined;
}

const columnsOf = (table: Element): number => table.querySelector("tr")?.children.length ?? 0;

/** Markdown has one line for each row of a table. */
const oneLine = (text: string): string =>
  text
    .trim()
    .replaceAll(/\s*\n\s*/g, " ")
    .replaceAll("|", "\\|");

const turndown = new Turndown({ headingStyle: "atx", emDelimiter: "*" })
  .remove(["form"])
  .addRule("small", { filter: "small", replacement: (text) => ` ${text.trim()}` })
  .addRule("caption", { filter: ["figcaption", "summary"], replacement: (text) => `\n\n**${text.trim()}**\n\n` })
  .addRule("pre", {
    filter: "pre",
    replacement: (_, { textContent }: Element) => `\n\n\`\`\`\n${textContent.trimEnd()}\n\`\`\`\n\n`,
  })
  .addRule("item", {
    filter: ({ nodeName, parentNode }: Element) => nodeName === "LI" && parentNode.nodeName === "UL",
    replacement: (text) => `- ${text.trim().replaceAll(/\n+/g, "\n  ")}\n`,
  })
  .addRule("rule of a field", {
    filter: ({ parentNode }: Element) => parentNode.className === "rules",
    replacement: (text, { previousSibling }: Element) => (previousSibling ? `; ${text}` : text),
  })
  .addRule("cell", { filter: ["td", "th"], replacement: (text) => `| ${oneLine(text)} ` })
  .addRule("row", {
    filter: "tr",
    // A cell that stands for several rows is in the first of them only.
    replacement: (text, row: Element) =>
      `${"| ".repeat(columnsOf(row.closest("table")) - row.children.length)}${text}|\n`,
  })
  .addRule("rows", { filter: ["thead", "tbody"], replacement: (text) => text })
  .addRule("table", {
    filter: "table",
    replacement(text, table: Element) {
      const rows = text.trim().split("\n");
      const columns = columnsOf(table);
      const head = table.querySelector("thead") ? rows.shift() : `${"| ".repeat(columns)}|`;
      return `\n\n${[head, `${"|---".repeat(columns)}|`, ...rows].join("\n")}\n\n`;
    },
  });
