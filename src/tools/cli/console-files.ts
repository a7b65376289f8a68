import { readdirSync } from "node:fs";
import { join } from "node:path";
import { transform } from "esbuild";
import { asFiles, hashedFile } from "./hashed-file.ts";
import { CONSOLE_STYLES, joinLayers, minifiedStyle, ROOT, readText } from "./layered-styles.ts";

/** The console's style and script, and the list of their names. */
export async function consoleFiles(): Promise<Record<string, string>> {
  const pages = readdirSync(join(ROOT, CONSOLE_STYLES, "pages")).sort();
  const css = joinLayers({
    tokens: [`${CONSOLE_STYLES}/tokens.css`],
    base: [`${CONSOLE_STYLES}/base.css`],
    parts: ["bar.css", "parts.css", "tables.css"].map((file) => `${CONSOLE_STYLES}/${file}`),
    pages: pages.map((file) => `${CONSOLE_STYLES}/pages/${file}`),
  });
  const script = await transform(readText("src/operators/console/console.js"), { minify: true, target: "es2023" });
  const built = {
    css: hashedFile("console/assets/console.css", await minifiedStyle(css)),
    js: hashedFile("console/assets/console.js", script.code),
  };
  const names = Object.fromEntries(Object.entries(built).map(([kind, { address }]) => [kind, address]));
  return {
    ...asFiles(...Object.values(built)),
    "console/names.json": `${JSON.stringify(names, null, 2)}\n`,
  };
}
