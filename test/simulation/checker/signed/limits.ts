import type { Call } from "../../world/call.ts";

/** What the two kinds of limits have in common: docs/operating.md, "Limits". */

/** A limit answers within this, in milliseconds: what it counted is known so much later. */
export const LIMITER_MS = 1;
/** How far a clock that counts whole milliseconds, and the way to the check, may shorten a pause. */
export const EARLY_MS = 10;

/** Whether the limits are bound in a call's deployment. */
export const areLimitsBound = ({ isolate }: Call): boolean => isolate !== undefined && "APP_LIMIT" in isolate.env;

/** Of IPv6, the 64 bits that one client has. In an address that is written in short, all else of them is zero here. */
export const clientKey = ({ client }: Call): string =>
  client.includes(":") ? [...(client.split("::")[0] ?? "").split(":"), "0"].slice(0, 4).join(":") : client;
