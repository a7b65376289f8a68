import { env } from "cloudflare:workers";
import { replacing } from "./replacing.ts";

/** How long a test's silent home is taken to be asked: as long as its asker waits, which drops the answer afterwards. */
const WAITED_MS = 2_000;

/** A database that answers every statement like this, from the values that are bound. */
export const answeringBy = (answer: (values: unknown[]) => Promise<unknown>): D1Database => {
  const bound = (values: unknown[]) => {
    const raw = () => answer(values);
    return { raw, all: raw, first: raw, run: raw };
  };
  const prepare = () => ({ ...bound([]), bind: (...values: unknown[]) => bound(values) });
  return replacing(env.HOME_APAC, { prepare, batch: () => answer([]) });
};

/** What a home that has all tables answers to a probe, which binds their names and reads how many of them there are. */
export const allTables = (names: unknown[]) => [[names.length]];

/** A home that answers at once: beside silent ones, a test's clock runs too fast for a real database. */
export const PROMPT_HOME = answeringBy(async (names) => allTables(names));

/** Bindings of further homes, HOME_X01 and so on, which never answer, and what is known of them. */
export function silentHomes(count: number) {
  const names = Array.from({ length: count }, (_, i) => `x${String(i + 1).padStart(2, "0")}`);
  const asked: number[] = [];
  const silent = () => {
    asked.push(Date.now());
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
    /** The most that were asked at the same time. */
    most: () =>
      Math.max(0, ...asked.map((at) => asked.filter((other) => other > at - WAITED_MS && other <= at).length)),
  };
}
