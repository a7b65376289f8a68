import type { BenchResult } from "../../src/tools/docs/numbers.ts";

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? Number.NaN) + (sorted[Math.floor(middle)] ?? Number.NaN)) / 2;
}

/** The median of the starts, with the lowest and the highest of them. */
export const spread = (starts: readonly number[]): BenchResult => ({
  value: rounded(median(starts)),
  low: rounded(Math.min(...starts)),
  high: rounded(Math.max(...starts)),
});

/** Rounds to four digits, because no two runs agree in more. */
function rounded(value: number): number {
  if (!Number.isFinite(value)) throw new Error("a start was not measured, or was compared with nothing");
  return Number(value.toPrecision(4));
}
