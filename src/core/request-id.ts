import type { Runtime } from "./runtime.ts";

/**
 * The id of a call: `x-request-id` of its answer, in the log, in the journal of refused calls, in the audit log, as owner of its nonce,
 * and in the session that it opened. A UUIDv7 (RFC 9562, section 5.7), so ids sort by time.
 */

/** A request id as the Worker makes it: lower case. */
export const REQUEST_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** The random bits are those of {@link Runtime.uuid}, a UUIDv4: 74 of them, so that no caller can guess the owner of a nonce. */
export const newRequestId = ({ now, uuid }: Pick<Runtime, "now" | "uuid">): string =>
  `${timeOf(now())}-7${uuid().slice(15)}`;

/** When a call began, in Unix seconds. */
export const timeOfRequest = (requestId: string): number =>
  Math.floor(Number.parseInt(requestId.slice(0, 8) + requestId.slice(9, 13), 16) / 1000);

/** Lower than every id that is made at or after this time (Unix seconds), and higher than every one that is made before it. */
export const firstRequestIdAt = (seconds: number): string =>
  `${timeOf(Math.max(0, seconds) * 1000)}-7000-8000-000000000000`;

/** The first two parts of an id. */
function timeOf(milliseconds: number): string {
  const time = milliseconds.toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}`;
}
