import { isRefusedFor } from "../errors.ts";
import { type Runtime, withinTime } from "../runtime.ts";
import type { FoundApp, Lifetime } from "./question.ts";

/** How long a cold look-up waits for KV before it asks D1 too. */
const KV_HEAD_START_MS = 15;
/** How long a look-up waits for KV's record after D1 answered that there is no such app. */
const KV_LATE_MS = 300;

/**
 * The first answer of KV and D1. D1 is asked when KV does not have the app or takes long.
 *
 * @throws any error of `askD1`, when KV does not have the app or its home is closed
 */
export async function firstOfKvAndD1(
  { runtime, waitUntil, answerBy }: Lifetime,
  fromKv: Promise<FoundApp | undefined>,
  askD1: () => Promise<FoundApp | undefined>,
): Promise<FoundApp | undefined> {
  const kvAnswer = await resultWithin(runtime, KV_HEAD_START_MS, fromKv, null);
  if (kvAnswer !== null) return kvAnswer ?? askD1();
  const fromD1 = askD1();
  // When KV wins, D1's answer still refreshes the caches.
  waitUntil(fromD1.catch(() => {}));
  const kvHit = fromKv.then((foundInKv) => foundInKv ?? fromD1);
  // A directory that was restored to an earlier time does not know newer apps. So after its "no such app" the look-up waits briefly
  // for KV's record, which the gate then checks.
  const foundOrFromKv = (foundInD1: FoundApp | undefined) =>
    foundInD1 ?? resultWithin(runtime, KV_LATE_MS, kvHit, undefined);
  const firstAnswer = Promise.any([kvHit, fromD1.then(foundOrFromKv)]).catch(() => fromD1);
  // A closed home refuses all requests, so KV's record would not help. A call without a turn at D1 has already waited for KV.
  const deadline = new Promise<never>((_, refuse) => {
    fromD1.catch((error: unknown) => isRefusedFor(error, "home_closed", "client_limit") && refuse(error));
  });
  return resultWithin(runtime, answerBy - runtime.elapsed(), Promise.race([firstAnswer, deadline]), fromD1);
}

/** The answer if it comes within `milliseconds`, otherwise `whenLate`. */
export function resultWithin<T, Late>(
  runtime: Runtime,
  milliseconds: number,
  answer: Promise<T>,
  whenLate: Late | Promise<Late>,
): Promise<T | Late> {
  return withinTime<T, Late | Promise<Late>>(
    runtime,
    milliseconds,
    () => answer,
    () => whenLate,
  ) as Promise<T | Late>;
}
