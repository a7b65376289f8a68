import { importKey } from "../signing/import-key.ts";
import { verifySignature } from "../signing/verify-signature.ts";
import type { CredentialBindings, CredentialResolver, Credentials, LookUp, Source } from "./resolve-credentials.ts";

/** An app whose signature was valid, and which of its secrets made it. */
export interface Caller {
  appid: string;
  siteId: number;
  secretVersion: number;
  source: Source;
}

export type Authentication =
  | { ok: true; caller: Caller }
  | {
      ok: false;
      reason: "app_unknown" | "app_revoked" | "signature_missing" | "signature_malformed" | "signature_mismatch";
    };

export interface SignedBytes {
  appid: string;
  /** The header as received. */
  signature: string | undefined;
  /** The body as received. */
  body: ArrayBuffer;
  /** Unix seconds. */
  now: number;
}

/** An unknown or revoked appid costs its caller the same HMAC as a wrong signature does. */
let dummyKey: CryptoKey | undefined;

/**
 * Whose request is it? Contract section 5. A wrong signature, an unknown appid and a revoked one differ in the log only.
 *
 * @throws what {@link CredentialResolver.resolve} throws
 */
export async function authenticate(
  resolver: CredentialResolver,
  bindings: CredentialBindings,
  request: SignedBytes,
  lookUp: LookUp,
): Promise<Authentication> {
  const found = await resolver.resolve(bindings, request.appid, lookUp);
  if (found === undefined || found.credentials.revoked) {
    dummyKey ??= await importKey("no app has this secret");
    await verifySignature(request.body, request.signature, [{ slot: "current", key: dummyKey }]);
    return { ok: false, reason: found === undefined ? "app_unknown" : "app_revoked" };
  }
  const first = await verify(found.credentials, found.source, request);
  if (first.ok || first.reason !== "signature_mismatch" || found.source === "d1") return first;
  const fresh = await resolver.refresh(bindings, found.credentials, lookUp);
  return fresh === undefined ? first : verify(fresh, "d1", request);
}

async function verify(credentials: Credentials, source: Source, request: SignedBytes): Promise<Authentication> {
  const { appid, siteId, version } = credentials;
  const keys = credentials.keys.filter((key) => key.expiresAt > request.now);
  const result = await verifySignature(request.body, request.signature, keys);
  if (!result.ok) return result;
  return {
    ok: true,
    caller: { appid, siteId, source, secretVersion: result.slot === "current" ? version : version - 1 },
  };
}
