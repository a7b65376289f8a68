import type { LastLines } from "./last-lines.ts";
import type { Prefix } from "./shortest-prefix.ts";
import type { Totals } from "./totals.ts";

const WIDTH = 118;
/** Longer lines of the trace are cut, because bodies and rows are long. --trace writes whole lines. */
const LONGEST_LINE = 240;
const LONGEST_REASON = 2000;

/** 12345 as 12,345. */
export const grouped = (number: number): string => number.toLocaleString("en");

export const counted = (number: number, one: string): string => `${grouped(number)} ${one}${number === 1 ? "" : "s"}`;

/** The amount of work. Only the last line changes when the same seeds run again. */
export function amounts(totals: Totals, seconds: number, threads: number): string {
  const perSecond = grouped(Math.round(totals.steps / Math.max(seconds, 0.001)));
  return [
    `steps           ${grouped(totals.steps)}`,
    `virtual hours   ${grouped(Math.round(totals.hours * 10) / 10)}`,
    `requests        ${grouped(totals.requests)}`,
    `real seconds    ${seconds.toFixed(1)} (${perSecond} steps/s on ${counted(threads, "thread")})`,
  ].join("\n");
}

/** Counts in as many columns as fit, the most frequent first, down each column. */
export function inColumns(counts: readonly (readonly [kind: string, count: number])[]): string {
  if (counts.length === 0) return "  nothing";
  const digits = Math.max(...counts.map(([, count]) => grouped(count).length));
  const kinds = Math.max(...counts.map(([kind]) => kind.length));
  const columns = Math.max(1, Math.floor(WIDTH / (digits + kinds + 4)));
  const rows = Math.ceil(counts.length / columns);
  return Array.from({ length: rows }, (_, row) =>
    counts
      .filter((_, at) => at % rows === row)
      .map(([kind, count]) => `  ${grouped(count).padStart(digits)}  ${kind.padEnd(kinds)}`)
      .join("")
      .trimEnd(),
  ).join("\n");
}

export function shortestRun({ steps, violation, tries, complete }: Prefix): string {
  const how = complete
    ? `found in ${tries === 1 ? "1 try" : `${tries} tries`}`
    : `the search was cut after ${tries} tries`;
  return [
    `The shortest run that still breaks it: ${counted(steps, "step")}, ${how}. It shows at step ${grouped(violation.step)}.`,
    `  rule      ${violation.rule}`,
    `  instead   ${shortened(violation.what, LONGEST_REASON)}`,
  ].join("\n");
}

/** The command that writes the whole trace of one run. */
export const command = (seed: number, steps: number): string =>
  `npm run simulate -- --seed ${seed} --steps ${steps} --trace seed-${seed}.trace`;

export function lastLines({ lines, count, about }: LastLines): string {
  const which = about.length === 0 ? "of its trace" : `of its trace that mention ${about.join(" or ")}`;
  const howMany = count > lines.length ? `The last ${lines.length} of ${grouped(count)} lines` : "The lines";
  return `${howMany} ${which}:\n${lines.map((line) => `  ${shortened(line, LONGEST_LINE)}`).join("\n")}`;
}

const shortened = (text: string, most: number): string => (text.length <= most ? text : `${text.slice(0, most)} …`);
