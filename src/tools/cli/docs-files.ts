import { type BuildOptions, build } from "esbuild";
import { ALL_TEXTS } from "../../operators/diagnosis/all-texts.ts";
import { SCRIPT_TEXTS } from "../docs/check-texts.ts";
import { detailWords } from "../docs/error-details.ts";
import { headingsBy } from "../docs/markdown-page.ts";
import { PROGRAMS } from "../docs/programs.ts";
import { framedPages, markdownFiles, sitePages } from "../docs/site.tsx";
import { LANGUAGES, type Language } from "../docs/texts.ts";
import { chineseTexts, consoleTexts } from "./chinese-texts.ts";
import { asFiles, hashedFile } from "./hashed-file.ts";
import { CONSOLE_STYLES, joinLayers, minifiedStyle, ROOT, readText } from "./layered-styles.ts";

const SITE = "src/tools/docs";
const BROWSER = `${SITE}/browser`;

/**
 * The files of `GET /docs/`, by their paths from src/assets.
 *
 * @param openApi the text of openapi.json
 */
export async function docsFiles(openApi: string): Promise<Record<string, string>> {
  const { repository } = JSON.parse(readText("package.json")) as { repository: { url: string } };
  const css = hashedFile("docs/assets/docs.css", await minifiedStyle(style()));
  const js = hashedFile("docs/assets/docs.js", await script({ entryPoints: [`${BROWSER}/docs.js`] }));
  const search = hashedFile("docs/assets/search.js", await script({ entryPoints: [`${BROWSER}/search.js`] }));
  const chinese = chineseTexts();
  const input = {
    read: readText,
    headings: headingsBy(readText),
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
    Object.assign(files, framedPages(pages, texts, { css: css.address, js: js.address }), markdownFiles(pages, texts));
    files[`${LANGUAGES[language].folder}/check/check.js`] = await checkScript(language, consoleTexts());
  }
  for (const { file } of PROGRAMS) files[`docs/examples/${file}`] = readText(`src/client/examples/${file}`);
  for (const file of ["alerts.yml", "prometheus.yml"])
    files[`docs/prometheus/${file}`] = readText(`docs/prometheus/${file}`);
  files["docs/icon.svg"] = readText(`${SITE}/icon.svg`);
  return files;
}

const style = () =>
  joinLayers({
    tokens: [`${CONSOLE_STYLES}/tokens.css`],
    base: [`${CONSOLE_STYLES}/base.css`],
    bar: [`${CONSOLE_STYLES}/bar.css`],
    docs: [`${SITE}/styles/docs.css`, `${SITE}/styles/docs-check.css`],
  });

/** The script of the check page. It is one file with everything, because its page may load no other. */
function checkScript(language: Language, chinese: Record<string, string>): Promise<string> {
  const texts = [...ALL_TEXTS, ...detailWords()];
  const translations =
    language === "en" ? {} : Object.fromEntries(texts.map((english) => [english, chinese[english] ?? english]));
  const scriptData = JSON.stringify({ language: LANGUAGES[language].tag, texts: SCRIPT_TEXTS[language], translations });
  return script({
    stdin: { contents: `import { start } from "./check.js"; start(${scriptData});`, resolveDir: BROWSER },
  });
}

async function script(options: BuildOptions): Promise<string> {
  const { outputFiles } = await build({
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
