import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gateTexts, numberTexts } from "../docs/number-tables.ts";
import { strayNumbers } from "../docs/stray-numbers.ts";
import { withTables } from "../docs/tables.ts";
import { textsOf } from "../docs/texts.ts";
import { openApiDocument } from "../openapi/document.ts";
import { chineseTexts } from "./chinese-texts.ts";

const FOLDERS = [
  { folder: "", language: "en" },
  { folder: "docs/", language: "en" },
  { folder: "docs/operating/", language: "en" },
  { folder: "docs/zh/", language: "zh" },
] as const;

/** Pages that say what was true at a time. */
const HISTORY = ["CHANGELOG.md", "docs/decisions.md"];

/**
 * The pages as the code and the bench's results make them, by their paths.
 *
 * @param root the folder of package.json
 * @throws Error that names Chinese texts that are missing, and numbers of the bench outside of a page's markers
 */
export function madePages(root: string): Record<string, string> {
  const readPage = (path: string) => readFileSync(join(root, path), "utf8");
  const openapi = JSON.parse(JSON.stringify(openApiDocument("0.0.0")));
  const numbers = {
    ...numberTexts(JSON.parse(readPage("docs/numbers.json"))),
    ...gateTexts(JSON.parse(readPage("docs/gate.json"))),
  };
  const pages: Record<string, string> = {};
  const faults: string[] = [];
  for (const { folder, language } of FOLDERS) {
    const texts = textsOf(language, chineseTexts());
    const up = "../".repeat(folder.split("/").length - 1);
    for (const name of readdirSync(join(root, folder)).filter((file) => file.endsWith(".md"))) {
      const path = `${folder}${name}`;
      const page = withTables(readPage(path), { texts, openapi, numbers, readPage, up });
      pages[path] = page;
      const strays = HISTORY.includes(path) ? [] : strayNumbers(page, numbers);
      faults.push(...strays.map((stray) => `${path} says ${stray}, which the bench measures, without a marker`));
    }
    faults.push(
      ...[...texts.missingTexts].map((text) => `src/tools/docs/zh.json has no Chinese for ${JSON.stringify(text)}`),
    );
  }
  if (faults.length > 0) throw new Error([...new Set(faults)].join("\n"));
  return pages;
}
