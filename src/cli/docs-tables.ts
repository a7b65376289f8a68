import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { withTables } from "../docs/tables.ts";
import { textsOf } from "../docs/texts.ts";
import { openApiDocument } from "../openapi/document.ts";
import { chineseTexts } from "./docs-files.ts";
import { ROOT, readText } from "./layered-styles.ts";

/** Writes the tables of docs/ that come from the code. With `--check` it writes nothing, and fails when one is out of date. */

const isCheck = process.argv.includes("--check");
const openapi = JSON.parse(JSON.stringify(openApiDocument("0.0.0")));

const stale: string[] = [];
for (const [folder, language] of [
  ["docs", "en"],
  ["docs/zh", "zh"],
] as const) {
  const texts = textsOf(language, chineseTexts());
  for (const name of readdirSync(join(ROOT, folder)).filter((file) => file.endsWith(".md"))) {
    const file = `${folder}/${name}`;
    const before = readText(file);
    const after = withTables(before, { texts, openapi, read: readText, up: "../".repeat(folder.split("/").length) });
    if (after === before) continue;
    stale.push(file);
    if (!isCheck) writeFileSync(join(ROOT, file), after);
  }
  if (texts.missing.size > 0) {
    throw new Error(
      `src/docs/zh.json has no Chinese for\n${[...texts.missing].map((text) => `  ${JSON.stringify(text)}`).join("\n")}`,
    );
  }
}
if (isCheck && stale.length > 0) {
  console.error(`The tables of ${stale.join(" and ")} are not those of the code: run npm run tables.`);
  process.exitCode = 1;
}
