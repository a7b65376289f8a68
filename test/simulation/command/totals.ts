import type { RunResult } from "../run.ts";

/** A kind of `seen` that counts requests: "honest 200", "attacker cut off". */
const A_REQUEST = / (?:\d{3}|cut off)$/;

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

  get hours(): number {
    return this.#milliseconds / 3_600_000;
  }

  get requests(): number {
    return this.seen.reduce((sum, [kind, count]) => sum + (A_REQUEST.test(kind) ? count : 0), 0);
  }

  /** The counts, the most frequent first. */
  get seen(): [kind: string, count: number][] {
    return [...this.#seen].sort(([a, some], [b, others]) => others - some || (a < b ? -1 : 1));
  }
}
