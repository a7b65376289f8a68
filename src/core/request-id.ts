import type { Runtime } from "./runtime.ts";

/**
 * The id of a call: `x-request-id` of its answer, in the log, in the journal of refused calls, in the audit log, as owner of its nonce,
 * and in the session that it opened. A UUIDv7 (RFC 9562, section 5.7), so ids sort by time.
 */

/** A request id as the Worker makes it: lower case. */
export const REQUEST_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** The random bits come from {@link Runtime.bytes}: 74 of them, so that no caller can guess the owner of a nonce. */
export function newRequestId({ now, bytes }: Pick<Runtime, "now" | "bytes">): string {
  const random = bytes(10);
  random[0] = (Number(random[0]) & 0x0f) | 0x70;
  random[2] = (Number(random[2]) & 0x3f) | 0x80;
  return written(now(), random.toHex());
}

/** When a call began, in Unix seconds. */
export const timeOfRequest = (requestId: string): number =>
  Math.floor(Number.parseInt(requestId.slice(0, 8) + requestId.slice(9, 13), 16) / 1000);

/** Lower than every id that is made at or after this time (Unix seconds), and higher than every one that is made before it. */
export const firstRequestIdAt = (seconds: number): string =>
  written(Math.max(0, seconds) * 1000, "70008".padEnd(20, "0"));

function written(milliseconds: number, rest: string): string {
  const time = milliseconds.toString(16).padStart(12, "0");
  const parts = [time.slice(0, 8), time.slice(8), rest.slice(0, 4), rest.slice(4, 8), rest.slice(8)];
  return parts.join("-");
}
