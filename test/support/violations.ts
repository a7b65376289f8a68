import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { settled } from "./settled.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

type Violation = { id: string; nodes: { html: string; failureSummary: string }[] };

/** WCAG 2.2 A and AA, and axe-core's own best practices. */
const ALL = { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] };

/** axe-core's findings, once the page has its style. @param rules the names of axe-core's rules; {@link ALL} without it */
export async function violations(page: Page, rules?: string[]): Promise<string[]> {
  await settled(page);
  return violationsNow(page, rules);
}

/** What axe-core finds on the page as it stands. */
export async function violationsNow(page: Page, rules?: string[]): Promise<string[]> {
  const runOnly = rules === undefined ? ALL : { type: "rule", values: rules };
  const options = { runOnly, resultTypes: ["violations"] };
  // Once a document: sending and running it takes longer than the look.
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(AXE);
  const found = await page.evaluate<{ violations: Violation[] }>(`axe.run(${JSON.stringify(options)})`);
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`);
}
