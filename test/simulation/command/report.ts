import type { RunResult } from "../run.ts";

const WIDTH = 118;
/** Longer lines of the trace are cut, because bodies and rows are long. --trace writes whole lines. */
const LONGEST_LINE = 240;
/** The kinds in `seen` that count requests, such as "honest 200", "attacker cut off". */
const A_REQUEST = / (?:\d{3}|cut off)$/;

const IN_NAME = String.raw`[\p{L}\p{N}_-]`;

/** 12345 becomes 12,345. */
export const grouped = (number: number): string => number.toLocaleString("en");

export const countedWords = (number: number, one: string): string =>
  `${grouped(number)} ${one}${number === 1 ? "" : "s"}`;

/** The sums over many seeds. They do not depend on the order in which seeds end. */
export class Totals {
  seeds = 0;
  steps = 0;
  #milliseconds = 0;
  readonly #seen = new Map<string, number>();

  add({ steps, elapsed, seen }: RunResult): void {
    this.seeds++;
    this.steps += steps;
    // Rounded, because the sum of fractions would depend on the order.
    this.#milliseconds += Math.round(elapsed);
    for (const [kind, count] of Object.entries(seen)) this.#seen.set(kind, (this.#seen.get(kind) ?? 0) + count);
  }

  /** The counts, the most frequent first. */
  get seen(): [kind: string, count: number][] {
    return [...this.#seen].sort(([a, some], [b, others]) => others - some || (a < b ? -1 : 1));
  }

  /** The amount of work. When the same seeds run again, only the last line differs. */
  amounts(seconds: number, threads: number): string {
    const requests = this.seen.reduce((sum, [kind, count]) => sum + (A_REQUEST.test(kind) ? count : 0), 0);
    const perSecond = grouped(Math.round(this.steps / Math.max(seconds, 0.001)));
    return [
      `steps           ${grouped(this.steps)}`,
      `virtual hours   ${grouped(Math.round(this.#milliseconds / 360_000) / 10)}`,
      `requests        ${grouped(requests)}`,
      `real seconds    ${seconds.toFixed(1)} (${perSecond} steps/s on ${countedWords(threads, "thread")})`,
    ].join("\n");
  }
}

/** Lists counts in as many columns as fit. The order goes down each column. */
export function inColumns(counts: readonly (readonly [kind: string, count: number])[]): string {
  if (counts.length === 0) return "  nothing";
  const digits = Math.max(...counts.map(([, count]) => grouped(count).length));
  const kinds = Math.max(...counts.map(([kind]) => kind.length));
  const rows = Math.ceil(counts.length / Math.max(1, Math.floor(WIDTH / (digits + kinds + 4))));
  const cells = counts.map(([kind, count]) => `  ${grouped(count).padStart(digits)}  ${kind.padEnd(kinds)}`);
  const lines = Array.from({ length: rows }, (_, row) => cells.filter((_, at) => at % rows === row).join(""));
  return lines.map((line) => line.trimEnd()).join("\n");
}

/** Collects the last lines of a trace that mention certain names. */
export class LastLines {
  readonly #about: readonly string[];
  readonly #names: RegExp;
  readonly #most: number;
  readonly #lines: string[] = [];
  #count = 0;

  /** @param about whole names: "call-1" does not occur in "call-12". When there are none, all lines are kept. */
  constructor(about: readonly string[], most = 60) {
    this.#about = about;
    this.#names = new RegExp(`(?<!${IN_NAME})(?:${about.map(RegExp.escape).join("|")})(?!${IN_NAME})`, "u");
    this.#most = most;
  }

  add(line: string): void {
    if (this.#about.length > 0 && !this.#names.test(line)) return;
    this.#count++;
    this.#lines.push(shortened(line, LONGEST_LINE));
    if (this.#lines.length > this.#most) this.#lines.shift();
  }

  toString(): string {
    const which = this.#about.length === 0 ? "" : ` that mention ${this.#about.join(" or ")}`;
    const cut = this.#count > this.#lines.length;
    const howMany = cut ? `The last ${this.#lines.length} of ${grouped(this.#count)} lines` : "The lines";
    return [`${howMany} of its trace${which}:`, ...this.#lines].join("\n  ");
  }
}

export const shortened = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most)} …`;
