import { env } from "cloudflare:workers";
import { replacing } from "./replacing.ts";

/** Milliseconds for which a silent home counts as asked: as long as the caller waits for its answer. */
const WAITED_MS = 2_000;

/** A database that computes its answer to every statement from the bound values. */
export const answeringBy = (answer: (values: unknown[]) => Promise<unknown>): D1Database => {
  const boundValues = (values: unknown[]) => {
    const raw = () => answer(values);
    return { raw, all: raw, first: raw, run: raw };
  };
  const prepare = () => ({ ...boundValues([]), bind: (...values: unknown[]) => boundValues(values) });
  return replacing(env.HOME_APAC, { prepare, batch: () => answer([]) });
};

/** No rows, in each form in which D1 answers. */
export const NO_ROWS = Object.assign([] as unknown[], { results: [] as unknown[] });

/** A home that answers at once, beside silent homes. A real database would be too slow for the test's fast clock. */
export const PROMPT_HOME = answeringBy(async () => NO_ROWS);

/** Bindings of homes that never answer, HOME_X01 and so on, and how they were asked. */
export function silentHomes(count: number) {
  const names = Array.from({ length: count }, (_, i) => `x${String(i + 1).padStart(2, "0")}`);
  const askedAt: number[] = [];
  const silent = () => {
    askedAt.push(Date.now());
    return new Promise<never>(() => {});
  };
  const db = answeringBy(silent);
  const bindings: Record<`HOME_${string}`, D1Database> = Object.fromEntries(
    names.map((name) => [`HOME_${name.toUpperCase()}`, db]),
  );
  return {
    names,
    bindings,
    states: Object.fromEntries(names.map((name) => [name, "down"])),
    /** The highest number of homes asked at the same time. */
    most: () =>
      Math.max(0, ...askedAt.map((at) => askedAt.filter((other) => other > at - WAITED_MS && other <= at).length)),
  };
}
