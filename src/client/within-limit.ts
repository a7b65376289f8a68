import type { Signal } from "./platform.ts";

/** No answer within the limit of one try. */
export class TryTimedOut extends Error {
  override readonly name = "TryTimedOut";
}

/**
 * Runs one try. Its signal aborts when the time is up or the caller aborts, and the result rejects at that moment, whatever the
 * work makes of the signal.
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

/** @returns what stops listening, so that a signal that outlives many calls keeps nothing of them */
function listen(signal: Signal | undefined, aborted: (reason: unknown) => void): () => void {
  const onAbort = () => aborted(signal?.reason);
  signal?.addEventListener("abort", onAbort, { once: true });
  return () => signal?.removeEventListener("abort", onAbort);
}
