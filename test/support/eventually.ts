import { vi } from "vitest";

/**
 * Repeats `holds` until it no longer throws. @returns what its last call returned
 *
 * @param limit milliseconds, long enough for a busy machine; only a failing test waits for all of it
 */
export const eventually = <Value>(holds: () => Value | Promise<Value>, limit = 45_000): Promise<Value> =>
  vi.waitFor(holds, { timeout: limit });
