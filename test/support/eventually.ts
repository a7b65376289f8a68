import { vi } from "vitest";

/**
 * Waits until nothing is thrown. @returns what the last call returned
 *
 * @param limit milliseconds, for a busy machine: only a failing test waits for them
 */
export const eventually = <Value>(holds: () => Value | Promise<Value>, limit = 45_000): Promise<Value> =>
  vi.waitFor(holds, { timeout: limit });
