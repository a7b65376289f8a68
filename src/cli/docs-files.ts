import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type BuildOptions, buildSync } from "esbuild";
import { ALL_TEXTS } from "../diagnosis/all-texts.ts";
import { SCRIPT_TEXTS } from "../docs/check-texts.ts";
import { detailWords } from "../docs/details.ts";
import { PROGRAMS } from "../docs/programs.ts";
import { LANGUAGES, type Language } from "../docs/texts.ts";
import { asFiles, hashedFile } from "./hashed-file.ts";
import { layered, minifiedStyle, ROOT, readText } from "./layered-styles.ts";

const SITE = "src/docs";
const BROWSER = `${SITE}/browser`;

/**
 * The files of `GET /docs/`, by their paths from src/assets.
 *
 * @param openApi the text of openapi.json
 */
export async function docsFiles(openApi: string): Promise<Record<string, string>> {
  const { framedPages, sitePages } = await site();
  const { repository } = JSON.parse(readText("package.json")) as { repository: { url: string } };
  const css = hashedFile("docs/assets/docs.css", minifiedStyle(style()));
  const js = hashedFile("docs/assets/docs.js", script({ entryPoints: [`${BROWSER}/docs.js`] }));
  const search = hashedFile("docs/assets/search.js", script({ entryPoints: [`${BROWSER}/search.js`] }));
  const chinese = chineseTexts();
  const input = {
    read: readText,
    repository: repository.url.replace(/^git\+|\.git$/g, ""),
    openapi: JSON.parse(openApi),
    chinese,
  };
  const check = { en: "/docs/check/check.js", zh: "/docs/zh/check/check.js" };
  const files = asFiles(css, js, search);
  for (const language of Object.keys(LANGUAGES) as Language[]) {
    const index = (records: unknown) => {
      const file = hashedFile(`docs/assets/search-${language}.json`, JSON.stringify(records));
      Object.assign(files, asFiles(file));
      return file.address;
    };
    const { pages, texts } = sitePages(language, input, { search: search.address, check, index });
    Object.assign(files, framedPages(pages, texts, { css: css.address, js: js.address }));
    files[`${LANGUAGES[language].folder}/check/check.js`] = checkScript(language, consoleTexts());
  }
  for (const { file } of PROGRAMS) files[`docs/examples/${file}`] = readText(`src/client/examples/${file}`);
  files["docs/icon.svg"] = readText(`${SITE}/icon.svg`);
  return files;
}

/** The pages are JSX, which node does not run: esbuild makes one module of them. */
async function site(): Promise<typeof import("../docs/site.tsx")> {
  const module = script({
    entryPoints: [`${SITE}/site.tsx`],
    platform: "node",
    minify: false,
    jsx: "automatic",
    jsxDev: false,
    jsxImportSource: "hono/jsx",
  });
  const folder = mkdtempSync(join(tmpdir(), "docs-site-"));
  try {
    const file = join(folder, "site.mjs");
    writeFileSync(file, module);
    return await import(pathToFileURL(file).href);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const style = () =>
  layered({
    tokens: ["tokens.css"],
    base: ["base.css"],
    bar: ["bar.css"],
    docs: ["docs.css", "docs-check.css"],
  });

const consoleTexts = (): Record<string, string> => JSON.parse(readText("src/assets/console/zh.json"));

/** The texts of the docs, and the console's words for what `x-error-detail` says. */
export const chineseTexts = (): Record<string, string> => ({
  ...consoleTexts(),
  ...JSON.parse(readText(`${SITE}/zh.json`)),
});

/** One file with all that the check needs, since its page may load no more. */
function checkScript(language: Language, chinese: Record<string, string>): string {
  const texts = [...ALL_TEXTS, ...detailWords()];
  const translations =
    language === "en" ? {} : Object.fromEntries(texts.map((english) => [english, chinese[english] ?? english]));
  const given = JSON.stringify({ language: LANGUAGES[language].tag, texts: SCRIPT_TEXTS[language], translations });
  return script({ stdin: { contents: `import { start } from "./check.js"; start(${given});`, resolveDir: BROWSER } });
}

function script(options: BuildOptions): string {
  const { outputFiles } = buildSync({
    absWorkingDir: ROOT,
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    target: "es2023",
    charset: "utf8",
    legalComments: "none",
    ...options,
  });
  return outputFiles?.[0]?.text ?? "";
}
