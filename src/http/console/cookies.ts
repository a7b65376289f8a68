export const SESSION_COOKIE = "__Host-console";
export const LANGUAGE_COOKIE = "__Host-language";
/** Set by console.js, from what the browser knows. */
export const ZONE_COOKIE = "__Host-zone";

/**
 * A cookie of this host only that scripts cannot read. SameSite=Lax, so that an operator who follows a link from a mail is still signed
 * in; posts are checked by their Origin.
 */
export function hostCookie(name: string, value: string, maxAgeSeconds: number): string {
  return `${name}=${value}; Path=/; Max-Age=${maxAgeSeconds}; Secure; HttpOnly; SameSite=Lax`;
}

export function readCookie(request: Request, name: string): string | undefined {
  const pairs = (request.headers.get("cookie") ?? "").split(/; */);
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
}
