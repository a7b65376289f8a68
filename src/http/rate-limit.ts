/** True while a limit is not exceeded. A limit that is not bound, or fails, limits nobody: it protects, it does not decide. */
export async function withinRate(limit: RateLimit | undefined, key: string): Promise<boolean> {
  try {
    return limit === undefined || (await limit.limit({ key })).success;
  } catch {
    return true;
  }
}

/** Seconds after which a limited client may try again: the periods in wrangler.toml. */
export const APP_LIMIT_PERIOD = 10;
export const CLIENT_LIMIT_PERIOD = 60;

/** The address a client is counted under. */
export function clientAddress(request: Request): string {
  return request.headers.get("cf-connecting-ip") ?? "unknown";
}
