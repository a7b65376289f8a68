import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { buildSync, transformSync } from "esbuild";
import { ALL_TEXTS } from "../diagnosis/all-texts.ts";
import { CHECK_PAGES, type CheckLanguage, checkPage, SCRIPT_TEXTS } from "../openapi/check-page.ts";
import { openApiDocument } from "../openapi/document.ts";
import { EXAMPLES, guidePage } from "../openapi/guide.ts";

/**
 * Writes the files of `GET /openapi.json`, `GET /docs/` and `GET /console/assets/` into src/assets. They come from the schemas that
 * validate requests, from the pages in src/openapi/pages, from src/styles and from the console's script. The same sources give the same bytes. A file that is up to date is not written.
 */

const root = join(import.meta.dirname, "../..");
const assets = join(root, "src/assets");
const pages = join(root, "src/openapi/pages");
const styles = join(root, "src/styles");
const text = (...path: string[]) => readFileSync(join(...path), "utf8");

const { version } = JSON.parse(text(root, "package.json")) as { version: string };
const examples = Object.keys(EXAMPLES).map((file) => ({ file, source: text(root, "src/client/examples", file) }));

const files: Record<string, string> = {
  "openapi.json": `${JSON.stringify(openApiDocument(version), null, 2)}\n`,
  "docs/index.html": guidePage(text(pages, "guide.html"), examples),
  "docs/docs.css": text(styles, "tokens.css") + text(pages, "docs.css"),
  "docs/guide.css": text(pages, "guide.css"),
  "docs/guide.js": text(pages, "guide.js"),
  "docs/icon.svg": text(pages, "icon.svg"),
  "docs/reference/index.html": text(pages, "reference.html"),
  "docs/reference/reference.js": text(pages, "reference.js"),
  "docs/reference/redoc.js": redoc(),
  "docs/check/check.css": text(pages, "check.css"),
  ...checkFiles("en", {}),
  ...checkFiles("zh", translations()),
  ...consoleFiles(),
  ...Object.fromEntries(examples.map(({ file, source }) => [`docs/examples/${file}`, source])),
};

for (const [path, content] of Object.entries(files)) write(join(assets, path), content);
for (const folder of ["docs", "console/assets"]) {
  for (const path of readdirSync(join(assets, folder), { recursive: true, withFileTypes: true })) {
    const file = join(path.parentPath, path.name);
    if (path.isFile() && !(relative(assets, file) in files)) rmSync(file);
  }
}

/** The console's style and script, named by their content, so that browsers may keep them for ever; and the list of these names. */
function consoleFiles(): Record<string, string> {
  const layer = (name: string, css: string) => `@layer ${name} {\n${css}}\n`;
  const pagesOfConsole = readdirSync(join(styles, "pages")).sort();
  const css = [
    "@layer tokens, base, parts, pages;\n",
    layer("tokens", text(styles, "tokens.css")),
    layer("base", text(styles, "base.css")),
    layer("parts", text(styles, "parts.css") + text(styles, "tables.css")),
    layer("pages", pagesOfConsole.map((file) => text(styles, "pages", file)).join("")),
  ].join("");
  // No target: an older one would put the nesting and light-dark() of today's browsers into many more rules.
  const built = {
    css: transformSync(css, { loader: "css", minify: true, legalComments: "none" }).code,
    js: transformSync(text(root, "src/http/console/console.js"), { minify: true, target: "es2023" }).code,
  };
  const named = Object.entries(built).map(([kind, content]): [string, string, string] => {
    const hash = createHash("sha256").update(content).digest("hex").slice(0, 10);
    return [kind, `console/assets/console-${hash}.${kind}`, content];
  });
  const names = Object.fromEntries(named.map(([kind, path]) => [kind, `/${path}`]));
  return {
    ...Object.fromEntries(named.map(([, path, content]) => [path, content])),
    "console/names.json": `${JSON.stringify(names, null, 2)}\n`,
  };
}

/** The Chinese texts of the check's findings, by their English ones. */
function translations(): Record<string, string> {
  const all = JSON.parse(text(assets, "console/zh.json")) as Record<string, string>;
  return Object.fromEntries(ALL_TEXTS.map((english) => [english, all[english] ?? english]));
}

/** The page that checks a request, and its script: one file with all that the check needs, since the page may load no more. */
function checkFiles(language: CheckLanguage, translations: Record<string, string>): Record<string, string> {
  const { folder, lang } = CHECK_PAGES[language];
  const given = JSON.stringify({ language: lang, texts: SCRIPT_TEXTS[language], translations });
  const { outputFiles } = buildSync({
    stdin: { contents: `import { start } from "./check.js"; start(${given});`, resolveDir: pages },
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    target: "es2023",
    charset: "utf8",
    legalComments: "none",
  });
  return {
    [`${folder}/index.html`]: checkPage(text(pages, "check.html"), language),
    [`${folder}/check.js`]: outputFiles[0]?.text ?? "",
  };
}

/** Redoc, from the package of the linter. Its only image is embedded, so that the page fetches nothing from other hosts. */
function redoc(): string {
  const source = text(root, "node_modules/@redocly/cli/lib/chunks/redoc.standalone.js");
  const logo =
    "<svg xmlns='http://www.w3.org/2000/svg' width='40' height='14'><text y='11' font-family='sans-serif' font-size='11' fill='#6b7fd7'>Redoc</text></svg>";
  const local = source.replaceAll(
    /https:\/\/cdn\.redoc\.ly\/redoc\/logo-mini(-full)?\.svg/g,
    `data:image/svg+xml,${encodeURIComponent(logo)}`,
  );
  if (local === source) throw new Error("Redoc no longer has the image that was to be taken in");
  return local;
}

/** Writes a new file and renames it: a server that reads at the same time must not get half a file. */
function write(path: string, content: string): void {
  try {
    if (readFileSync(path, "utf8") === content) return;
  } catch {
    mkdirSync(dirname(path), { recursive: true });
  }
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, content);
  renameSync(draft, path);
}
