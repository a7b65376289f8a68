import { readFileSync } from "node:fs";
import { UsageError } from "./known-options.ts";

/**
 * The bytes of a body that was given as @FILE, - for standard input, or text.
 *
 * @throws UsageError when it cannot be read
 */
export function readBody(given: string): Uint8Array<ArrayBuffer> {
  const source = given === "-" ? 0 : given.startsWith("@") ? given.slice(1) : undefined;
  if (source === undefined) return Uint8Array.from(Buffer.from(given));
  try {
    return Uint8Array.from(readFileSync(source));
  } catch (error) {
    throw new UsageError(`The body could not be read: ${(error as Error).message}`);
  }
}
