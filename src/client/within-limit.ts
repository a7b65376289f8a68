import type { Signal } from "./platform.ts";

/** There was no answer within the timeout of one try. */
export class TryTimedOut extends Error {
  override readonly name = "TryTimedOut";
}

/**
 * Runs one try. When the time is up or the caller aborts, its signal aborts and the result rejects at once, even if the work ignores
 * the signal.
 *
 * @throws TryTimedOut, or the reason of `caller`
 */
export function withinLimit<T>(
  milliseconds: number,
  caller: Signal | undefined,
  work: (signal: Signal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  return new Promise<T>((resolve, reject) => {
    const release = listen(caller, (reason) => stop(reason));
    const timer = setTimeout(() => stop(new TryTimedOut(`no answer in ${milliseconds} ms`)), milliseconds);
    const done = () => {
      clearTimeout(timer);
      release();
    };
    const stop = (reason: unknown) => {
      done();
      reject(reason);
      controller.abort(reason);
    };
    work(controller.signal).then(resolve, reject).finally(done);
  });
}

/** @throws the reason of `caller`, at the moment it aborts */
export function pause(milliseconds: number, caller: Signal | undefined): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    // It may have aborted after the last try ended: then no event comes any more.
    if (caller?.aborted === true) return reject(caller.reason);
    const release = listen(caller, (reason) => {
      clearTimeout(timer);
      reject(reason);
    });
    const timer = setTimeout(() => {
      release();
      resolve();
    }, milliseconds);
  });
}

/** @returns the function that stops listening, so that a signal used for many calls does not keep them in memory */
function listen(signal: Signal | undefined, aborted: (reason: unknown) => void): () => void {
  const onAbort = () => aborted(signal?.reason);
  signal?.addEventListener("abort", onAbort, { once: true });
  return () => signal?.removeEventListener("abort", onAbort);
}
