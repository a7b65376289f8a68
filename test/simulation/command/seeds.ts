import { createHash } from "node:crypto";

/** The largest seed: a seed has 31 bits. */
export const MOST_SEED = 2 ** 31 - 1;

/** Seeds counted up from the first one. @param count undefined: without end */
export function* countedFrom(first: number, count = Number.POSITIVE_INFINITY): Generator<number> {
  for (let i = 0; i < count; i++) yield first + i;
}

/** Seeds derived from a text: the same text gives the same seeds. @param count undefined: without end */
export function* derivedFrom(text: string, count = Number.POSITIVE_INFINITY): Generator<number> {
  for (let i = 1; i <= count; i++) yield createHash("sha256").update(`${text}/${i}`).digest().readUInt32BE(0) >>> 1;
}
