import { readFileSync } from "node:fs";
import type { Io } from "./io.ts";
import { UsageError } from "./known-options.ts";

/**
 * The bytes of a body that was given as @FILE, as - for standard input, or as text.
 *
 * @throws UsageError when it cannot be read
 */
export function readBody(bodyArgument: string, stdin: Io["stdin"]): Uint8Array<ArrayBuffer> {
  if (bodyArgument !== "-" && !bodyArgument.startsWith("@")) return Uint8Array.from(Buffer.from(bodyArgument));
  try {
    return Uint8Array.from(bodyArgument === "-" ? stdin() : readFileSync(bodyArgument.slice(1)));
  } catch (error) {
    throw new UsageError(`The body could not be read: ${(error as Error).message}`);
  }
}
