import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { settled } from "./page-settled.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

type Violation = { id: string; nodes: { html: string; failureSummary: string }[] };

/** WCAG 2.2 A and AA, and axe-core's own best practices. */
const ALL = { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] };

/** axe-core's findings, after the page has its final look. @param rules the names of axe-core's rules; default {@link ALL} */
export async function violations(page: Page, rules?: string[]): Promise<string[]> {
  await settled(page);
  return violationsNow(page, rules);
}

/** axe-core's findings on the page as it is now. */
export async function violationsNow(page: Page, rules?: string[]): Promise<string[]> {
  const runOnly = rules === undefined ? ALL : { type: "rule", values: rules };
  const options = { runOnly, resultTypes: ["violations"] };
  // axe-core is sent once for each document, because that takes longer than the check itself.
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(AXE);
  const result = await page.evaluate<{ violations: Violation[] }>(`axe.run(${JSON.stringify(options)})`);
  return result.violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`);
}
