import { readFileSync } from "node:fs";
import { join } from "node:path";
import { transform } from "esbuild";

export const ROOT = join(import.meta.dirname, "../../..");

export const CONSOLE_STYLES = "src/operators/console/styles";

/** The text of a file of the repository, by its path from the project's folder. */
export const readText = (path: string): string => readFileSync(join(ROOT, path), "utf8");

/** Joins files into one style of layers. A later layer wins over an earlier one, whatever the selectors are. Paths are from the project. */
export function joinLayers(layers: Record<string, string[]>): string {
  const parts = Object.entries(layers).map(([name, files]) => `@layer ${name} {\n${files.map(readText).join("")}}\n`);
  return `@layer ${Object.keys(layers).join(", ")};\n${parts.join("")}`;
}

// There is no target. An older one would put the nesting and light-dark() of today's browsers into many more rules.
export async function minifiedStyle(css: string): Promise<string> {
  return (await transform(css, { loader: "css", minify: true, legalComments: "none" })).code;
}
