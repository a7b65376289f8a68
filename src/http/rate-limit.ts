import { withinTime } from "../time-limit.ts";

/** A limiter answers without a network wait; one that takes longer than this, under any load, has failed. */
const PATIENCE_MS = 500;

/** True while a limit is not exceeded. A limit that is not bound, fails or hangs limits nobody: it protects, it does not decide. */
export async function withinRate(limit: RateLimit | undefined, key: string): Promise<boolean> {
  if (limit === undefined) return true;
  try {
    return await withinTime(
      PATIENCE_MS,
      async () => (await limit.limit({ key })).success,
      () => true,
    );
  } catch {
    return true;
  }
}

/** Seconds after which a limited client may try again: the periods in wrangler.toml. */
export const APP_LIMIT_PERIOD = 10;
export const CLIENT_LIMIT_PERIOD = 60;

/** The address a client is counted under; of IPv6 the first 64 bits, since whoever has one address there has all that follow. */
export function clientAddress(request: Request): string {
  const address = request.headers.get("cf-connecting-ip") ?? "unknown";
  if (!address.includes(":")) return address;
  const [head = [], tail = []] = address.split("::").map((half) => half.split(":").filter((group) => group !== ""));
  const zeros = Array<string>(Math.max(0, 8 - head.length - tail.length)).fill("0");
  return [...head, ...zeros, ...tail].slice(0, 4).join(":");
}
