export const SESSION_COOKIE = "__Host-console";
export const LANGUAGE_COOKIE = "__Host-language";
const YEAR_SECONDS = 31_536_000;
/** The programming language that the reader chose for the examples. */
export const CODE_COOKIE = "__Host-code";
/** The browser's time zone, set by console.js. */
export const ZONE_COOKIE = "__Host-zone";
/** The results of forms that this browser has shown already. */
export const SHOWN_COOKIE = "__Host-shown";

/**
 * A cookie for this host only, which scripts cannot read. It is Lax, because with SameSite=Strict an operator who follows a link in
 * a mail would not be signed in. Posts are checked by their Origin instead.
 */
export function hostCookie(name: string, value: string, maxAgeSeconds: number): string {
  return `${name}=${value}; Path=/; Max-Age=${maxAgeSeconds}; Secure; HttpOnly; SameSite=Lax`;
}

/** The host names at which browsers accept Secure cookies over plain http too. */
const LOCAL_HOST = /(^|\.)localhost\.?$|^127(\.\d+){3}$|^\[::1\]$/;

/**
 * Whether the browser drops the cookies of this console, because its address is plain http. A tunnel may end TLS in front of the
 * Worker, so the browser's headers count first: Origin, and `sec-fetch-site`, which it sends only to an address that it trusts.
 */
export function dropsCookies({ url, headers }: Request): boolean {
  const at = URL.parse(headers.get("origin") ?? (headers.has("sec-fetch-site") ? "" : url));
  return at?.protocol === "http:" && !LOCAL_HOST.test(at.hostname);
}

export const languageCookie = (language: "en" | "zh"): string => hostCookie(LANGUAGE_COOKIE, language, YEAR_SECONDS);

export function readCookie(request: Request, name: string): string | undefined {
  const pairs = (request.headers.get("cookie") ?? "").split(/; */);
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
}
