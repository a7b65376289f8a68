export const SESSION_COOKIE = "__Host-console";
export const LANGUAGE_COOKIE = "__Host-language";
/** Set by console.js, from what the browser knows. */
export const ZONE_COOKIE = "__Host-zone";

/**
 * A cookie that is this host's alone and out of scripts' reach. Lax, so that a link in a mail finds who is signed in; posts are
 * checked by Origin.
 */
export function hostCookie(name: string, value: string, maxAgeSeconds: number): string {
  return `${name}=${value}; Path=/; Max-Age=${maxAgeSeconds}; Secure; HttpOnly; SameSite=Lax`;
}

export function readCookie(request: Request, name: string): string | undefined {
  const pairs = (request.headers.get("cookie") ?? "").split(/; */);
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
}
