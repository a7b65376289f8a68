import { Marked, type Token } from "marked";
import { describe, expect, it } from "vitest";
import { PROGRAMS } from "../../../src/tools/docs/programs.ts";
import { LANGUAGES, type Language } from "../../../src/tools/docs/texts.ts";
import { site } from "./site.ts";

const SITES = { en: site("en"), zh: site("zh") };
const BOTH = Object.keys(LANGUAGES) as Language[];

/** The HTML pages of the site by their addresses. */
const PAGES = Object.fromEntries(
  BOTH.flatMap((language) =>
    Object.entries(SITES[language].files).map(([path, html]) => [`/${path.replace(/index\.html$/, "")}`, html]),
  ),
);

/** Each page of a language with its Markdown, and all tokens of it. */
const pagesOf = (language: Language) =>
  SITES[language].pages.map(({ path, headings }) => {
    const { folder } = LANGUAGES[language];
    const file = `${folder}/${path === "" ? "index" : path}.md`;
    const text = SITES[language].markdown[file] ?? "";
    const tokens: Token[] = [];
    const walkTokens = (token: Token) => void tokens.push(token);
    new Marked({ walkTokens }).parse(text, { async: false });
    return { address: `/${folder}/${path === "" ? "" : `${path}/`}`, file, text, tokens, headings };
  });

function isOnSite(to: string): boolean {
  const { pathname, hash, host } = new URL(to, "https://docs");
  if (host !== "docs") return true;
  if (/^\/openapi(?:\.callers)?\.json$|^\/docs\/prometheus\/\w+\.yml$/.test(pathname)) return true;
  if (pathname.startsWith("/docs/examples/")) return PROGRAMS.some(({ file }) => pathname.endsWith(`/${file}`));
  return (PAGES[pathname] ?? "").includes(hash === "" ? "<main" : ` id="${decodeURIComponent(hash.slice(1))}"`);
}

describe.each(BOTH)("the pages as Markdown, in %s", (language) => {
  it("each page is also Markdown, to which its head and its foot lead", () => {
    const pages = pagesOf(language);
    expect(Object.keys(SITES[language].markdown).sort()).toEqual(pages.map(({ file }) => file).sort());
    for (const { address, file, text } of pages) {
      expect(text).toMatch(/^# \S.*\n\n\S/);
      expect(PAGES[address]).toContain(`<link rel="alternate" type="text/markdown" href="/${file}"/>`);
      expect(PAGES[address]).toContain(`<a href="/${file}">Markdown</a>`);
    }
  });

  it("each link of a page as Markdown leads to an address that the site has", () => {
    const links = pagesOf(language).flatMap(({ file, tokens }) =>
      tokens.flatMap((token) => (token.type === "link" ? [{ file, to: String(token.href) }] : [])),
    );
    expect(links.length).toBeGreaterThan(400);
    expect(links.filter(({ to }) => !/^(?:https?:|mailto:|\/)/.test(to) || !isOnSite(to))).toEqual([]);
  });

  it("no tag, no comment and no picture is left in a page as Markdown", () => {
    const left = pagesOf(language).flatMap(({ file, tokens }) =>
      tokens.flatMap(({ type, raw }) => (type === "html" || type === "image" ? [`${file}: ${raw}`] : [])),
    );
    expect(left).toEqual([]);
  });

  it("a page as Markdown has the headings of the page, and each row of a table has as many cells as its head", () => {
    for (const { file, tokens, headings } of pagesOf(language)) {
      const words = (text: string) => text.replaceAll(/[`*\\\s]/g, "");
      const titles = tokens.flatMap((token) => (token.type === "heading" ? [words(token.text)] : []));
      expect([file, headings.map(({ title }) => words(title)).filter((title) => !titles.includes(title))]).toEqual([
        file,
        [],
      ]);
      for (const token of tokens) {
        if (token.type !== "table") continue;
        const rows = token.raw
          .trim()
          .split("\n")
          .map((row) => row.replaceAll(/`[^`]*`|\\\|/g, "").split("|").length);
        expect([file, new Set(rows).size, token.raw.slice(0, 80)]).toEqual([file, 1, token.raw.slice(0, 80)]);
      }
    }
  });
});

it("the check page as Markdown says that the check needs a browser", () => {
  expect(SITES.en.markdown["docs/check.md"]).toContain("needs a browser");
  expect(SITES.zh.markdown["docs/zh/check.md"]).toContain("浏览器");
});
