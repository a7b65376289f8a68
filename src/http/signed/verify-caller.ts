import type { Config } from "../../config.ts";
import { authenticate, type Caller, type SignedBytes } from "../../credentials/authenticate.ts";
import type { Found, LookUp } from "../../credentials/resolve-credentials.ts";
import { ServiceError } from "../../errors.ts";
import { CLIENT_LIMIT_PERIOD, failureKey } from "../../rate-limit.ts";
import type { RequestContext } from "../context.ts";

/** How long D1 may take to confirm a caller whose request is refused anyway. */
const CONFIRM_LIMIT_MS = 1_000;

/** One signed request on its way to a caller. */
export interface Claimant {
  appid: string;
  signed: SignedBytes;
  /** The address its failures are counted under. */
  client: string;
  lookUp: LookUp;
}

/**
 * Whose request is it? Asks the caches, then D1; a signature that fails on a cached record, and a cached revocation, are looked at
 * once more on a fresh one. What fails is counted against the client's address, and nothing else is.
 *
 * @throws ServiceError `token_invalid`, or `too_many_requests` for an address that failed too often; what a look-up throws
 */
export async function verifyCaller(c: RequestContext, config: Config, claimant: Claimant): Promise<Caller> {
  const { credentials, limits } = c.var.isolate;
  const { appid, signed, client, lookUp } = claimant;
  const { runtime } = c.var.isolate;
  const since = runtime.elapsed();
  let found: Found | undefined = credentials.cached(appid);
  if (found === undefined) {
    // Looking up costs a read of KV and one of D1, for every appid that somebody makes up.
    const isLimited = limits.isPassed(failureKey("unknown", client));
    found = isLimited ? credentials.known(appid) : await credentials.load(config, appid, lookUp);
    if (isLimited && found === undefined) throw tooManyFailures();
  }
  let result = await authenticate(found, signed);
  const mayBeStale = !result.ok && (result.reason === "signature_mismatch" || result.reason === "app_revoked");
  if (mayBeStale && found !== undefined && found.source !== "d1") {
    const fresh = await credentials.refresh(config, found.credentials, client, lookUp);
    if (fresh !== undefined) result = await authenticate(fresh, signed);
  }
  c.var.trace.credentialsMs = Math.round(runtime.elapsed() - since);
  if (!result.ok) return refuse(c, config, claimant, result.reason);
  c.var.trace.appid = appid;
  c.var.trace.signatureValid = true;
  c.var.trace.credentialsFrom = result.caller.source;
  return result.caller;
}

/**
 * The caller by what D1 says now, for a request that the batch did not take under `caller`: undefined when D1 says the same.
 *
 * @throws as {@link verifyCaller} does
 */
export async function verifyAgain(
  c: RequestContext,
  config: Config,
  claimant: Claimant,
  caller: Caller,
): Promise<Caller | undefined> {
  const { credentials } = c.var.isolate;
  const fresh =
    credentials.newer(caller.credentials) ?? (await credentials.reload(config, caller.credentials, claimant.lookUp));
  const result = await authenticate(fresh, claimant.signed);
  if (!result.ok) return refuse(c, config, claimant, "credentials_stale");
  const { siteId, secretVersion } = result.caller;
  return siteId === caller.siteId && secretVersion === caller.secretVersion ? undefined : result.caller;
}

/**
 * For a request that is refused before the batch could look at its app: a revoked app, or one whose secret was rotated away, must
 * look like a wrong signature here as well. Where D1 is asked no more, or does not answer, the caller is believed.
 *
 * @throws as {@link verifyCaller} does
 */
export async function confirmCaller(
  c: RequestContext,
  config: Config,
  claimant: Claimant,
  caller: Caller,
): Promise<void> {
  if (caller.source === "d1") return;
  const { credentials } = c.var.isolate;
  const answerBy = Math.min(claimant.lookUp.answerBy, c.var.isolate.runtime.elapsed() + CONFIRM_LIMIT_MS);
  let fresh: Found | undefined;
  try {
    const signature = claimant.signed.signature ?? "";
    fresh = await credentials.confirm(config, caller.credentials, signature, { ...claimant.lookUp, answerBy });
  } catch (error) {
    if (error instanceof ServiceError && error.code === "unavailable") return;
    throw error;
  }
  const result = await authenticate(fresh, claimant.signed);
  if (!result.ok) await refuse(c, config, claimant, result.reason);
}

async function refuse(
  c: RequestContext,
  { clientLimit }: Config,
  { appid, client }: Claimant,
  reason: string,
): Promise<never> {
  const { isolate, trace } = c.var;
  trace.signatureValid = false;
  if (reason === "app_unknown") delete trace.appid;
  else trace.appid = appid;
  const count = (failure: "signed" | "unknown") =>
    isolate.limits.count(clientLimit, failureKey(failure, client), CLIENT_LIMIT_PERIOD);
  const [within] = await Promise.all([count("signed"), reason === "app_unknown" && count("unknown")]);
  throw within ? new ServiceError("token_invalid", { reason }) : tooManyFailures();
}

const tooManyFailures = () =>
  new ServiceError("too_many_requests", { reason: "client_limit", retryAfter: CLIENT_LIMIT_PERIOD });
