import type { Runtime } from "./runtime.ts";

/**
 * The id of a call. It stands in `x-request-id`, in the log, in the journal of refused calls, in the audit log, in the nonce (as owner)
 * and in the session that the call opened. It is a UUIDv7 (RFC 9562, section 5.7), so ids sort by time.
 */

/** A request id as the Worker makes it: lower case. */
export const REQUEST_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** 74 bits are random and come from {@link Runtime.uuid}, a UUIDv4. So no caller can guess the owner of a nonce. */
export const newRequestId = ({ now, uuid }: Pick<Runtime, "now" | "uuid">): string =>
  `${timeOf(now())}-7${uuid().slice(15)}`;

/** When a call began, in Unix seconds. */
export const timeOfRequest = (requestId: string): number =>
  Math.floor(Number.parseInt(requestId.slice(0, 8) + requestId.slice(9, 13), 16) / 1000);

/** Separates ids by time: ids from before this time (Unix seconds) are lower, all later ids are higher. */
export const firstRequestIdAt = (seconds: number): string =>
  `${timeOf(Math.max(0, seconds) * 1000)}-7000-8000-000000000000`;

/** The first two parts of an id. */
function timeOf(milliseconds: number): string {
  const time = milliseconds.toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}`;
}
