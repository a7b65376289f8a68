import { readdirSync } from "node:fs";
import { join } from "node:path";
import { transform } from "esbuild";
import { asFiles, hashedFile } from "./hashed-file.ts";
import { layered, minifiedStyle, ROOT, readText } from "./layered-styles.ts";

/** The console's style and script, and the list of their names. */
export async function consoleFiles(): Promise<Record<string, string>> {
  const pages = readdirSync(join(ROOT, "src/operators/console/styles/pages")).sort();
  const css = layered({
    tokens: ["tokens.css"],
    base: ["base.css"],
    parts: ["bar.css", "parts.css", "tables.css"],
    pages: pages.map((file) => `pages/${file}`),
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
