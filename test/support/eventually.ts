import { vi } from "vitest";

/** Waits until nothing is thrown. @returns what the last call returned. The limit is for a busy machine: only a failing test waits for it. */
export const eventually = <Value>(holds: () => Value | Promise<Value>): Promise<Value> =>
  vi.waitFor(holds, { timeout: 45_000 });
