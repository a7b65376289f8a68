import { readFileSync } from "node:fs";
import type { Io } from "./io.ts";
import { UsageError } from "./known-options.ts";

/**
 * The bytes of a body that was given as @FILE, as - for standard input, or as text.
 *
 * @throws UsageError when it cannot be read
 */
export function readBody(given: string, stdin: Io["stdin"]): Uint8Array<ArrayBuffer> {
  if (given !== "-" && !given.startsWith("@")) return Uint8Array.from(Buffer.from(given));
  try {
    return Uint8Array.from(given === "-" ? stdin() : readFileSync(given.slice(1)));
  } catch (error) {
    throw new UsageError(`The body could not be read: ${(error as Error).message}`);
  }
}
