import type { Signal, SignalShape } from "./platform.ts";

/** A try had no answer within its timeout. */
export class TryTimedOut extends Error {
  override readonly name = "TryTimedOut";
}

/**
 * Runs one try. After the timeout, or when the caller aborts, the try's signal aborts and the promise rejects at once, even if the work
 * ignores the signal.
 *
 * @throws TryTimedOut, or the reason of `caller`
 */
export function withinLimit<T>(
  milliseconds: number,
  caller: SignalShape | undefined,
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

/** @throws the reason of `caller`, as soon as it aborts */
export function backOff(milliseconds: number, caller: SignalShape | undefined): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    // The caller may have aborted between the last try and this line, and an earlier abort sends no event here.
    if (caller?.aborted === true) return reject(reasonOf(caller));
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

/** @throws the reason of an aborted signal. Older platforms and polyfills lack the signal's own `throwIfAborted()` */
export function throwIfAborted(signal: SignalShape | undefined): void {
  if (signal?.aborted === true) throw reasonOf(signal);
}

const reasonOf = ({ reason }: SignalShape): unknown =>
  reason === undefined ? Object.assign(new Error("The call was aborted."), { name: "AbortError" }) : reason;

/** @returns a function that stops listening. Without it, a signal that is used for many calls would keep all of them in memory. */
function listen(signal: SignalShape | undefined, aborted: (reason: unknown) => void): () => void {
  if (signal === undefined) return () => {};
  const onAbort = () => aborted(reasonOf(signal));
  signal.addEventListener("abort", onAbort, { once: true });
  return () => signal.removeEventListener("abort", onAbort);
}
