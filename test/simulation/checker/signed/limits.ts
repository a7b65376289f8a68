import type { Call } from "../../world/call.ts";

/** Facts about limits of apps and of clients: docs/operating.md, "Limits". */

/** Milliseconds within which a limit answers. An isolate learns the count by as much later. */
export const LIMITER_MS = 1;
/**
 * The most milliseconds by which a refusal period may be shorter: clocks count whole milliseconds, and the check comes
 * later than the arrival.
 */
export const EARLY_MS = 10;

/** Whether the limits are bound in a call's deployment. */
export const areLimitsBound = ({ isolate }: Call): boolean => isolate !== undefined && "APP_LIMIT" in isolate.env;

/** The key of a client: of IPv6, its first 64 bits. In a short form of an address, the omitted part is zero here. */
export const clientKey = ({ client }: Call): string =>
  client.includes(":") ? [...(client.split("::")[0] ?? "").split(":"), "0"].slice(0, 4).join(":") : client;
