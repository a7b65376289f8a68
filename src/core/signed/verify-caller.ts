import { homeClosed } from "../config.ts";
import type { Found, Lifetime } from "../credentials/question.ts";
import { ServiceError } from "../errors.ts";
import { ok, type Refused, type Result, refused } from "../result.ts";
import type { Trace } from "../telemetry/trace.ts";
import { authenticate, type Caller, type SignedBytes } from "./authenticate.ts";
import { describeShape } from "./describe-shape.ts";
import { CLIENT_LIMIT_PERIOD, failureKey } from "./rate-limit.ts";
import type { Tools } from "./tools.ts";

/**
 * Timeout of D1 for confirming one of two things: the caller of a request that is refused anyway, or that an app is in a closed
 * home.
 */
const CONFIRM_LIMIT_MS = 1_000;

/** A request's sender as the request names it, before its signature is verified. */
export interface Claimant {
  appid: string;
  signed: SignedBytes;
  /** The address that failures are counted under. */
  client: string;
  lifetime: Lifetime;
}

/**
 * Verifies who sent a request. Credentials come from the caches, else from D1. When the signature fails on a cached record, or that
 * record is revoked, a fresh record is read and tried once. Only failures count for the client's limit. The apps of a closed home
 * are refused unverified, because only the home knows which secret is in force.
 *
 * @throws ServiceError as CredentialResolver.lookUp does
 */
export async function verifyCaller(tools: Tools, claimant: Claimant): Promise<Result<Caller>> {
  const { runtime, config, credentials, limits, trace } = tools;
  const { appid, signed, client, lifetime } = claimant;
  const since = runtime.elapsed();
  trace.claimedAppid = appid;
  // The look-up of an unknown appid costs a read of KV and a read of D1. A client over its limit gets only what this isolate has in
  // memory.
  const inMemory = limits.isExceeded(failureKey("unknown", client));
  let found = await credentials.lookUp(config, lifetime, { trust: "cache", appid, inMemory });
  if (found === undefined && inMemory) return tooManyFailures();
  found = found && (await atItsHome(tools, claimant, found));
  if (found !== undefined) noteApp(trace, found.credentials);
  if (found !== undefined && config.closedHomes.has(found.credentials.home)) {
    return refused("unavailable", "home_closed", homeClosed(found.credentials.home));
  }
  let result = await authenticate(found, signed);
  const mayBeStale = !result.ok && (result.reason === "signature_mismatch" || result.reason === "app_revoked");
  if (mayBeStale && found !== undefined && found.source !== "d1") {
    const cached = found.credentials;
    const question = { trust: "home", because: "signature_failed", cached, client } as const;
    const fresh = await credentials.lookUp(config, lifetime, question);
    if (fresh !== undefined) result = await authenticate(fresh, signed);
    if (fresh !== undefined) noteApp(trace, fresh.credentials);
  }
  trace.credentialsMs = Math.round(runtime.elapsed() - since);
  return result.ok ? ok(result.caller) : countFailure(tools, claimant, result.reason);
}

/** Notes the app that the request names, so that a refusal finds its way into the log and into the journal of the app's home. */
export function noteApp(trace: Trace, { siteId, appid, home, isRouted }: NonNullable<Trace["app"]>): void {
  trace.app = { siteId, appid, home, ...(isRouted && { isRouted }) };
  trace.appid = appid;
  trace.home = home;
}

/**
 * Follows an app out of a closed home: the directory's record, when it names another home; else `found`. The directory is asked
 * because a record of KV could be forged; while the directory does not answer, KV's record counts.
 */
async function atItsHome({ runtime, config, credentials }: Tools, claimant: Claimant, found: Found): Promise<Found> {
  if (!config.closedHomes.has(found.credentials.home) || found.source === "d1") return found;
  const { client, lifetime } = claimant;
  const answerBy = Math.min(lifetime.answerBy, runtime.elapsed() + CONFIRM_LIMIT_MS);
  const question = { trust: "directory", cached: found.credentials, client } as const;
  return (await credentials.lookUp(config, { ...lifetime, answerBy }, question).catch(() => undefined)) ?? found;
}

/**
 * Verifies the caller again with the record of its home, after the gate refused the cached record. Null when the home has the same
 * record.
 *
 * @throws ServiceError as CredentialResolver.lookUp does
 */
export async function verifyAtHome(tools: Tools, claimant: Claimant, caller: Caller): Promise<Result<Caller | null>> {
  const { config, credentials } = tools;
  const question = { trust: "home", because: "gate_refused", cached: caller.credentials } as const;
  const result = await authenticate(await credentials.lookUp(config, claimant.lifetime, question), claimant.signed);
  if (!result.ok) return countFailure(tools, claimant, "credentials_stale");
  return ok(sameCaller(result.caller, caller) ? null : result.caller);
}

/**
 * Verifies the caller again with the record of the directory, after its home did not answer. Undefined when that changes nothing.
 */
export async function verifyElsewhere(tools: Tools, claimant: Claimant, caller: Caller): Promise<Caller | undefined> {
  const { config, credentials } = tools;
  const { client, lifetime, signed } = claimant;
  const found = await credentials.lookUp(config, lifetime, { trust: "directory", cached: caller.credentials, client });
  const result = found && (await authenticate(found, signed));
  return result?.ok && !sameCaller(result.caller, caller) ? result.caller : undefined;
}

const sameCaller = (a: Caller, b: Caller): boolean =>
  a.siteId === b.siteId && a.home === b.home && a.secretVersion === b.secretVersion;

/**
 * Confirms the caller of a request that is refused before the batch. Without it, a caller with a revoked app or a replaced secret
 * would get another answer than that of a wrong signature. The caller counts as confirmed when D1 may not be asked or does not
 * answer.
 *
 * @throws ServiceError `internal`
 */
export async function confirmCaller(tools: Tools, claimant: Claimant, caller: Caller): Promise<Result<null>> {
  if (caller.source === "d1") return ok(null);
  const { runtime, config, credentials } = tools;
  const { lifetime, signed } = claimant;
  const answerBy = Math.min(lifetime.answerBy, runtime.elapsed() + CONFIRM_LIMIT_MS);
  const [cached, signature] = [caller.credentials, String(signed.signature)];
  const question = { trust: "home", because: "refused_anyway", cached, signature } as const;
  let fresh: Found | undefined;
  try {
    fresh = await credentials.lookUp(config, { ...lifetime, answerBy }, question);
  } catch (error) {
    if (error instanceof ServiceError && error.code === "unavailable") return ok(null);
    throw error;
  }
  const result = await authenticate(fresh, signed);
  return result.ok ? ok(null) : countFailure(tools, claimant, result.reason);
}

async function countFailure(tools: Tools, { client, signed }: Claimant, reason: string): Promise<Refused> {
  const { config, limits, trace } = tools;
  // An unknown appid is not logged: a caller who confuses the fields may have sent a secret as appid. One whose home has lost the
  // app is known to the directory.
  if (reason === "app_unknown" && trace.app?.isRouted !== true) {
    delete trace.appid;
    delete trace.home;
    delete trace.app;
    delete trace.claimedAppid;
  }
  delete trace.secretVersion;
  const count = (failure: "signed" | "unknown") =>
    limits.count(config.clientLimit, failureKey(failure, client), CLIENT_LIMIT_PERIOD);
  const [within] = await Promise.all([count("signed"), reason === "app_unknown" && count("unknown")]);
  if (!within) return tooManyFailures();
  // The detail depends only on the header, so it is the same for every appid, known or not.
  const detail = describeShape(signed.signature);
  return refused("token_invalid", reason, detail === undefined ? {} : { detail, tell: true });
}

const tooManyFailures = () => refused("too_many_requests", "client_limit", { retryAfter: CLIENT_LIMIT_PERIOD });
