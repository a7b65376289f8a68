import type { Settings } from "../../world/cloud/settings.ts";

/** A UUIDv7, as x-request-id gives it. */
const REQUEST_ID = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const DAY = 86_400;

/** The time in a request id in milliseconds since the epoch; undefined for a text that is none. */
export function timeOf(requestId: string): number | undefined {
  const [, high, low] = REQUEST_ID.exec(requestId) ?? [];
  return high === undefined ? undefined : Number.parseInt(`${high}${low}`, 16);
}

/** The same in seconds. */
export const secondOf = (requestId: string): number => Math.floor((timeOf(requestId) ?? Number.NaN) / 1000);

/** docs/operating.md, "Refused calls": how long the row of a refused call is kept, in Unix seconds. */
export const refusalKeptUntil = (requestId: string, { journalDays }: Settings): number =>
  secondOf(requestId) + journalDays * DAY;
