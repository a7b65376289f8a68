import { isRefusedFor } from "../errors.ts";
import { type Runtime, withinTime } from "../runtime.ts";
import type { Found, Lifetime } from "./question.ts";

/** A cold look-up gives KV this long before it asks D1 too. */
const KV_HEAD_START_MS = 15;
/** When D1 does not know the app, KV gets this long to say that it does. */
const KV_LATE_MS = 300;

/**
 * KV's answer, and D1's as well when KV does not have the app or takes long: the first wins.
 *
 * @throws what `askD1` throws, when KV does not have the app or its home is closed
 */
export async function firstOfKvAndD1(
  runtime: Runtime,
  { waitUntil, answerBy }: Lifetime,
  fromKv: Promise<Found | undefined>,
  askD1: () => Promise<Found | undefined>,
): Promise<Found | undefined> {
  const early = await within(runtime, KV_HEAD_START_MS, fromKv, null);
  if (early !== null) return early ?? askD1();
  const fromD1 = askD1();
  // When KV wins, D1's answer still refreshes the caches.
  waitUntil(fromD1.catch(() => {}));
  const kvHit = fromKv.then((found) => found ?? fromD1);
  // The directory may have been put back to before the app: its "no such app" waits a little for KV, and the gate judges KV's record.
  const orKv = (found: Found | undefined) => found ?? within(runtime, KV_LATE_MS, kvHit, undefined);
  const first = Promise.any([kvHit, fromD1.then(orKv)]).catch(() => fromD1);
  // No record of KV opens a closed home: nothing is left to wait for.
  const closed = new Promise<never>((_, refuse) => {
    fromD1.catch((error: unknown) => isRefusedFor(error, "home_closed") && refuse(error));
  });
  return within(runtime, answerBy - runtime.elapsed(), Promise.race([first, closed]), fromD1);
}

/** The answer if it comes within `milliseconds`, else `late`. */
export function within<T, Late>(
  runtime: Runtime,
  milliseconds: number,
  answer: Promise<T>,
  late: Late | Promise<Late>,
): Promise<T | Late> {
  return withinTime<T, Late | Promise<Late>>(
    runtime,
    milliseconds,
    () => answer,
    () => late,
  ) as Promise<T | Late>;
}
