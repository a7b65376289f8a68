import { checkPage } from "./check-page.tsx";
import { errorsPage } from "./errors-page.tsx";
import { type Assets, pageInFrame } from "./frame.tsx";
import { frontPage } from "./front-page.tsx";
import { type Files, markdownPage, SOURCES } from "./markdown-page.ts";
import { notFoundPage } from "./not-found-page.tsx";
import type { Page } from "./page.ts";
import { markdownAddress, pageMarkdown } from "./page-markdown.ts";
import { ProgramTabs } from "./program-tabs.tsx";
import { CALLERS, PROGRAMS, RECEIVERS } from "./programs.ts";
import { callPage } from "./reference/call-page.tsx";
import { referencePage } from "./reference/index-page.tsx";
import { callsOf, type OpenApi } from "./reference/openapi.ts";
import { searchPage } from "./search-page.tsx";
import { recordsOf, type SearchRecord } from "./search-records.ts";
import { LANGUAGES, type Language, type Texts, textsOf } from "./texts.ts";

export interface SiteInput extends Files {
  openapi: OpenApi;
  /** The Chinese texts by their English ones. */
  chinese: Record<string, string>;
}

/** The addresses of the files that the pages of a language load. */
export interface SiteAssets extends Assets {
  search: string;
  check: Record<Language, string>;
  /** The address from which the search loads its places. */
  index: (records: SearchRecord[]) => string;
}

const EXAMPLES = "src/client/examples/";

/**
 * All pages of the docs in one language without their frames, and the places that the search finds.
 *
 * @throws Error when a Chinese page has other headings than the English one
 */
export function sitePages(language: Language, input: SiteInput, assets: Omit<SiteAssets, "css" | "js">) {
  const texts = textsOf(language, input.chinese);
  const calls = callsOf(input.openapi);
  const sources = Object.fromEntries(PROGRAMS.map(({ file }) => [file, input.read(EXAMPLES + file)]));
  const parts = {
    callers: String(<ProgramTabs texts={texts} kind="caller" programs={CALLERS} sources={sources} />),
    receivers: String(<ProgramTabs texts={texts} kind="receiver" programs={RECEIVERS} sources={sources} />),
  };
  const pages: Page[] = [
    frontPage(texts, input.read(language === "zh" ? "README.zh-CN.md" : "README.md")),
    ...SOURCES.map((source) => markdownPage(source, texts, input, parts)),
    errorsPage(texts),
    checkPage(language, assets.check[language]),
    referencePage(calls, texts),
    ...calls.map((call) => callPage(call, input.openapi, texts)),
  ];
  const records: SearchRecord[] = pages.flatMap((page) => recordsOf(page, texts));
  pages.push(searchPage(texts, pages, assets.search, assets.index(records)), notFoundPage(texts));
  return { pages, records, texts };
}

/**
 * The files of the site by their paths from src/assets: the pages of one language in their frames.
 *
 * @throws Error when a text for Chinese readers has no Chinese
 */
export function framedPages(pages: Page[], texts: Texts, assets: Assets): Record<string, string> {
  const files = pages.map((page): [path: string, html: string] => {
    const folder = [LANGUAGES[texts.language].folder, page.path].filter((part) => part !== "").join("/");
    return [`${folder}/index.html`, pageInFrame(page, texts, assets)];
  });
  const missing = [...texts.missingTexts].map((english) => `  ${JSON.stringify(english)}: "",`);
  if (missing.length > 0) throw new Error(`src/tools/docs/zh.json has no Chinese for\n${missing.join("\n")}`);
  return Object.fromEntries(files);
}

/** The same pages as Markdown, by their paths from src/assets. */
export const markdownFiles = (pages: Page[], { language }: Texts): Record<string, string> =>
  Object.fromEntries(pages.map((page) => [markdownAddress(language, page).slice(1), pageMarkdown(language, page)]));
