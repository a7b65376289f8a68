import consoleChinese from "../../../src/assets/console/zh.json";
import { ADMIN_CHINESE } from "../../../src/tools/docs/admin-chinese.ts";
import { headingsBy } from "../../../src/tools/docs/markdown-page.ts";
import { framedPages, markdownFiles, sitePages } from "../../../src/tools/docs/site.tsx";
import type { Language } from "../../../src/tools/docs/texts.ts";
import docsChinese from "../../../src/tools/docs/zh.json";
import { openApiDocument } from "../../../src/tools/openapi/document.ts";

const TEXTS = Object.fromEntries(
  Object.entries(
    import.meta.glob(
      ["../../../*.md", "../../../docs/**/*.md", "../../../src/client/README.md", "../../../src/client/examples/*"],
      {
        query: "?raw",
        import: "default",
        eager: true,
      },
    ),
  ).map(([path, text]) => [path.replace("../../../", ""), String(text)]),
);

/** The text of a file of the repository. @throws Error when no page is made from it */
export function readPage(path: string): string {
  const text = TEXTS[path];
  if (text === undefined) throw new Error(`there is no ${path}`);
  return text;
}

/** The paths of all files of docs/, from the project's folder. */
export const FILES = Object.keys(TEXTS).filter((path) => path.startsWith("docs/"));

export const openapi = JSON.parse(JSON.stringify(openApiDocument("1.0.0")));
export const CHINESE: Record<string, string> = { ...consoleChinese, ...ADMIN_CHINESE, ...docsChinese };

/** Makes the site in one language as the build does: its pages, the index of the search, and the complete HTML files. */
export function site(language: Language, chinese = CHINESE) {
  const check = { en: "/docs/check/check.js", zh: "/docs/zh/check/check.js" };
  const input = {
    read: readPage,
    headings: headingsBy(readPage),
    openapi,
    chinese,
    repository: "https://example.com/repository",
  };
  const parts = sitePages(language, input, { search: "/docs/assets/search.js", check, index: () => "/index.json" });
  return {
    ...parts,
    markdown: markdownFiles(parts.pages, parts.texts),
    files: framedPages(parts.pages, parts.texts, { css: "/docs/assets/docs.css", js: "/docs/assets/docs.js" }),
  };
}
