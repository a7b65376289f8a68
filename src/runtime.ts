/**
 * Time and chance. Everything in src/ that reads a clock, waits, draws a random number or makes an id does it through this object, which
 * `createApp` is given: tests move time by hand, and a run can be repeated from a seed. A lint rule keeps it so.
 */
export interface Runtime {
  /** The wall clock, in milliseconds since the epoch: for what is stored, compared with a caller's timestamp or cached. */
  now(): number;
  /** A clock that never jumps, in milliseconds from any start: for durations and deadlines inside one request. */
  elapsed(): number;
  /** Calls back once after so many milliseconds, unless the function it returns is called before. */
  after(milliseconds: number, callback: () => void): () => void;
  /** At least 0 and below 1. For jitter, never for secrets. */
  random(): number;
  /** So many bytes that nobody can guess. */
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

/** Unix seconds. */
export const unixSeconds = ({ now }: Pick<Runtime, "now">): number => Math.floor(now() / 1000);

/** Waits so many milliseconds. */
export function sleep({ after }: Pick<Runtime, "after">, milliseconds: number): Promise<void> {
  return new Promise((resolve) => void after(milliseconds, resolve));
}

/**
 * The call's answer if it comes within `milliseconds`, else what `late` returns or throws.
 *
 * Rejects as the call does, also when the call throws at once. A late answer or error is dropped.
 */
export async function withinTime<T, Late>(
  { after }: Pick<Runtime, "after">,
  milliseconds: number,
  call: () => Promise<T>,
  late: () => Late,
): Promise<T | Late> {
  let cancel = () => {};
  const timeUp = Symbol();
  const timeout = new Promise<typeof timeUp>((resolve) => {
    cancel = after(milliseconds, () => resolve(timeUp));
  });
  // In an async function, so that a call that throws at once is a rejection like any other.
  const answer = (async () => call())();
  answer.catch(() => {});
  try {
    const first = await Promise.race([answer, timeout]);
    return first === timeUp ? late() : (first as T);
  } finally {
    cancel();
  }
}
