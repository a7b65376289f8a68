/**
 * Time and chance. All code of the Worker uses this object for clocks, timers, random numbers and ids, so tests move time by hand
 * and repeat a run from a seed. A lint rule forbids the globals in all other files.
 */
export interface Runtime {
  /** The wall clock, in milliseconds since the epoch. For stored times, callers' timestamps and the age of cache entries. */
  now(): number;
  /** A clock that never jumps, in milliseconds since an arbitrary start. For durations and deadlines within one request. */
  elapsed(): number;
  /** Calls `callback` once, after `milliseconds`. @returns a function that cancels the call */
  after(milliseconds: number, callback: () => void): () => void;
  /** A number from 0 to 1, without 1. For jitter, never for secrets. */
  random(): number;
  /** Random bytes, safe for secrets. */
  bytes(length: number): Uint8Array<ArrayBuffer>;
  /** A random id that nobody can guess. */
  uuid(): string;
}

export const systemRuntime: Runtime = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after(milliseconds, callback) {
    const timer = setTimeout(callback, milliseconds);
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
  bytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
  uuid: () => crypto.randomUUID(),
};

export const unixSeconds = ({ now }: Pick<Runtime, "now">): number => Math.floor(now() / 1000);

export function sleep({ after }: Pick<Runtime, "after">, milliseconds: number): Promise<void> {
  return new Promise((resolve) => void after(milliseconds, resolve));
}

/**
 * The call's answer if it comes within `milliseconds`, otherwise the result or the error of `whenLate`. Rejects when the call rejects or
 * throws in time. A late answer or error is dropped.
 */
export function withinTime<T, Late>(
  { after }: Pick<Runtime, "after">,
  milliseconds: number,
  call: () => Promise<T>,
  whenLate: () => Late,
): Promise<T | Late> {
  // One promise instead of Promise.race: each signed request makes several of these.
  return new Promise((resolve, reject) => {
    const answering = call();
    const cancel = after(milliseconds, () => {
      try {
        resolve(whenLate());
      } catch (error) {
        reject(error);
      }
    });
    answering.then(
      (answer) => {
        cancel();
        resolve(answer);
      },
      (error: unknown) => {
        cancel();
        reject(error);
      },
    );
  });
}
