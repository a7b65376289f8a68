/**
 * Time and chance. `createApp` is given this object, and all code of the Worker reads clocks, waits, draws random numbers and makes
 * ids through it: tests move time by hand and repeat a run from a seed. A lint rule refuses the globals elsewhere.
 */
export interface Runtime {
  /** The wall clock, in milliseconds since the epoch. For stored times, callers' timestamps and caches. */
  now(): number;
  /** A clock that never jumps, in milliseconds since an arbitrary start. For durations and deadlines within one request. */
  elapsed(): number;
  /** Calls back once, after `milliseconds`. @returns the function that cancels it */
  after(milliseconds: number, callback: () => void): () => void;
  /** A number from 0 up to, not including, 1. For jitter, never for secrets. */
  random(): number;
  /** Random bytes that nobody can guess. */
  bytes(length: number): Uint8Array<ArrayBuffer>;
  /** An id that nobody can guess. */
  uuid(): string;
}

/** The machine's own clock and chance. */
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

/** The wall clock in Unix seconds. */
export const unixSeconds = ({ now }: Pick<Runtime, "now">): number => Math.floor(now() / 1000);

export function sleep({ after }: Pick<Runtime, "after">, milliseconds: number): Promise<void> {
  return new Promise((resolve) => void after(milliseconds, resolve));
}

/**
 * The call's answer if it comes within `milliseconds`, else what `late` returns or throws.
 *
 * Rejects when the call rejects or throws. An answer or error that comes later is dropped.
 */
export function withinTime<T, Late>(
  { after }: Pick<Runtime, "after">,
  milliseconds: number,
  call: () => Promise<T>,
  late: () => Late,
): Promise<T | Late> {
  // One promise, not a race of three: each signed request makes several of these.
  return new Promise((resolve, reject) => {
    const answering = call();
    const cancel = after(milliseconds, () => {
      try {
        resolve(late());
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
