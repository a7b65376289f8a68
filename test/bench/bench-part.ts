import type { BenchResult, NumberName } from "../../src/tools/docs/numbers.ts";

/** A part of the bench: the text before the dot in the names of its numbers. */
export type BenchPart = NumberName extends `${infer Name}.${string}` ? Name : never;

export type ResultsOf<Name extends BenchPart> = Record<Extract<NumberName, `${Name}.${string}`>, BenchResult>;
