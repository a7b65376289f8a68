/** The console's sign-in, kept in a cookie that only this deployment's ADMIN_TOKEN can have made. */

/** 12 hours. */
export const SIGNED_IN_SECONDS = 43_200;

const NAME = "__Host-console";
const LABEL = "agent-session console cookie v1";
const BASE64URL = { alphabet: "base64url", omitPadding: true } as const;
const encoder = new TextEncoder();

/** `Set-Cookie` for whoever gave the right token. @param now Unix seconds */
export async function signedInCookie(adminToken: string, now: number): Promise<string> {
  const expiresAt = String(now + SIGNED_IN_SECONDS);
  const mac = await crypto.subtle.sign("HMAC", await keyOf(adminToken), encoder.encode(expiresAt));
  return hostCookie(NAME, `${expiresAt}.${new Uint8Array(mac).toBase64(BASE64URL)}`, SIGNED_IN_SECONDS);
}

export const signedOutCookie = (): string => hostCookie(NAME, "", 0);

/** Whether a request carries a cookie of this token that has not expired. @param now Unix seconds */
export async function isSignedIn(request: Request, adminToken: string | undefined, now: number): Promise<boolean> {
  const [expiresAt, mac] = (readCookie(request, NAME) ?? "").split(".");
  if (adminToken === undefined || expiresAt === undefined || mac === undefined) return false;
  if (!/^\d{1,12}$/.test(expiresAt) || Number(expiresAt) <= now || !/^[\w-]{43}$/.test(mac)) return false;
  try {
    const signature = Uint8Array.fromBase64(mac, BASE64URL);
    return await crypto.subtle.verify("HMAC", await keyOf(adminToken), signature, encoder.encode(expiresAt));
  } catch {
    return false;
  }
}

/** A cookie that is this host's alone, out of scripts' reach, and never sent along from another site. */
export function hostCookie(name: string, value: string, maxAgeSeconds: number): string {
  return `${name}=${value}; Path=/; Max-Age=${maxAgeSeconds}; Secure; HttpOnly; SameSite=Strict`;
}

export function readCookie(request: Request, name: string): string | undefined {
  const pairs = (request.headers.get("cookie") ?? "").split(/; */);
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
}

/** A key of its own, so that nothing the cookie shows helps with the token, and another token means another key. */
async function keyOf(adminToken: string): Promise<CryptoKey> {
  const token = await crypto.subtle.importKey("raw", encoder.encode(adminToken), "HKDF", false, ["deriveKey"]);
  const derivation = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info: encoder.encode(LABEL) };
  const purpose = { name: "HMAC", hash: "SHA-256", length: 256 };
  return crypto.subtle.deriveKey(derivation, token, purpose, false, ["sign", "verify"]);
}
