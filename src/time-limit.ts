/**
 * The call's answer if it comes within `milliseconds`, else what `late` returns or throws. A leaf: any folder may import it.
 *
 * Rejects as the call does, also when the call throws at once. Whatever a late call ends in is dropped.
 */
export async function withinTime<T, Late>(
  milliseconds: number,
  call: () => Promise<T>,
  late: () => Late,
): Promise<T | Late> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeUp = Symbol();
  const patience = new Promise<typeof timeUp>((resolve) => {
    timer = setTimeout(() => resolve(timeUp), milliseconds);
  });
  // In an async function, so that a call that throws at once is a rejection like any other.
  const answer = (async () => call())();
  answer.catch(() => {});
  try {
    const first = await Promise.race([answer, patience]);
    return first === timeUp ? late() : (first as T);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits so many milliseconds. */
export function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
