import { importKey } from "../credentials/import-key.ts";
import type { Credentials } from "../credentials/open-secrets.ts";
import type { CredentialsSource, FoundApp, Lifetime } from "../credentials/question.ts";
import { verifySignature } from "./verify-signature.ts";

/** An app whose signature was valid, and the version of the secret that it signed with. */
export interface Caller {
  appid: string;
  siteId: number;
  home: string;
  secretVersion: string;
  /** Whether the site has events, according to the verified record. */
  events: boolean;
  source: CredentialsSource;
  credentials: Credentials;
}

export type Authentication =
  | { ok: true; caller: Caller }
  | {
      ok: false;
      reason: "app_unknown" | "app_revoked" | "signature_missing" | "signature_malformed" | "signature_mismatch";
    };

export interface SignedBytes {
  /** The header as received. */
  signature: string | undefined;
  /** The body as received. */
  body: ArrayBuffer;
  /** Unix seconds. */
  now: number;
}

/** A request's sender as the request names it, before its signature is verified. */
export interface Claimant {
  appid: string;
  signed: SignedBytes;
  /** The address that failures are counted under. */
  client: string;
  lifetime: Lifetime;
}

/** The key that is tried for an unknown or revoked appid. Without it, the time of an answer would show whether an appid exists. */
let dummyKey: CryptoKey | undefined;

/**
 * Verifies a request's signature with the credentials of the appid that the request names. Contract section 5. The log distinguishes
 * an unknown appid, a revoked app and a wrong signature; the caller gets the same answer for all three.
 */
export async function authenticate(found: FoundApp | undefined, request: SignedBytes): Promise<Authentication> {
  if (found === undefined || found.credentials.revoked) {
    dummyKey ??= await importKey("no app has this secret");
    await verifySignature(request.body, request.signature, [{ key: dummyKey }]);
    return { ok: false, reason: found === undefined ? "app_unknown" : "app_revoked" };
  }
  const { credentials, source } = found;
  const { appid, siteId, home, events, keys } = credentials;
  const keysInForce = keys.filter((key) => key.expiresAt > request.now);
  const result = await verifySignature(request.body, request.signature, keysInForce);
  if (!result.ok) return result;
  return { ok: true, caller: { appid, siteId, home, source, credentials, events, secretVersion: result.key.version } };
}
