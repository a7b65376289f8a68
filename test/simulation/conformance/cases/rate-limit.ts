import type { Cases } from "../case.ts";

interface Limits {
  /** Allows two calls in 10 s. */
  two: RateLimit;
  /** Allows three calls in 60 s. */
  three: RateLimit;
}

const TEN_SECONDS = 10_000;
const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Milliseconds until the next window of 10 s. Each window of 60 s begins together with one of them. */
const msLeftInWindow = () => TEN_SECONDS - (Date.now() % TEN_SECONDS);
const window = () => Math.floor(Date.now() / TEN_SECONDS);

/**
 * Runs calls that must begin in one window and end `later` windows after it. If the machine was too slow, it runs them
 * again under another key.
 */
async function runInWindow<T>(later: number, run: (key: string) => Promise<T>): Promise<T> {
  for (;;) {
    if (msLeftInWindow() < 1_000) await sleep(msLeftInWindow());
    const start = window();
    const answers = await run(`key ${crypto.randomUUID()}`);
    if (window() === start + later) return answers;
  }
}

/** Makes calls one after another, and returns whether each succeeded. */
async function callLimit(limit: RateLimit, ...keys: string[]) {
  const successes: boolean[] = [];
  for (const key of keys) successes.push((await limit.limit({ key })).success);
  return successes;
}

/** Each case counts under its own keys, because all cases share the real limits. */
export const rateLimitCases: Cases<Limits> = {
  "a limit of two lets only two calls succeed, and two limits count the same key separately": ({ two, three }) =>
    runInWindow(0, async (key) => [
      await callLimit(two, key, key, key, key),
      await callLimit(three, key, key, key, key, key),
    ]),
  "a limit counts each key separately": ({ two }) =>
    runInWindow(0, (key) => callLimit(two, key, `${key} `, key, key.toUpperCase(), key, `${key} `, `${key} `)),
  "a limit counts each of several calls at the same time": ({ two }) =>
    runInWindow(0, (key) => Promise.all(Array.from({ length: 5 }, () => two.limit({ key })))),
  "a refused call succeeds when the next window of the clock begins": ({ two }) =>
    runInWindow(1, async (key) => {
      const before = await callLimit(two, key, key, key);
      await sleep(msLeftInWindow() + 10);
      return [before, await callLimit(two, key, key, key)];
    }),
};
