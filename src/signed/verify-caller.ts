import { homeClosed } from "../config.ts";
import type { Found, Lifetime } from "../credentials/question.ts";
import { ServiceError } from "../errors.ts";
import { ok, type Refused, type Result, refused } from "../result.ts";
import { authenticate, type Caller, type SignedBytes } from "./authenticate.ts";
import { describeShape } from "./describe-shape.ts";
import { CLIENT_LIMIT_PERIOD, failureKey } from "./rate-limit.ts";
import type { Tools } from "./tools.ts";

/** Timeout of D1 when it confirms a caller whose request is refused anyway, or that a closed home is the app's. */
const CONFIRM_LIMIT_MS = 1_000;

/** The appid that a request names, before its signature is verified. */
export interface Claimant {
  appid: string;
  signed: SignedBytes;
  /** The address that failures are counted under. */
  client: string;
  lifetime: Lifetime;
}

/**
 * Verifies who sent a request. Credentials come from the caches, else from D1. When the signature fails on a cached record, or the
 * cached record is revoked, a fresh record is read and tried once. Only failures count for the client's limit. The apps of a closed
 * home are refused before anything is verified: whether a secret was replaced is known only to the home.
 *
 * @throws ServiceError as CredentialResolver.lookUp does
 */
export async function verifyCaller(tools: Tools, claimant: Claimant): Promise<Result<Caller>> {
  const { runtime, config, credentials, limits, trace } = tools;
  const { appid, signed, client, lifetime } = claimant;
  const since = runtime.elapsed();
  // The look-up of an invented appid costs one read of KV and one of D1. Over its limit a client gets only what this isolate knows.
  const inMemory = limits.isPassed(failureKey("unknown", client));
  let found = await credentials.lookUp(config, lifetime, { trust: "cache", appid, inMemory });
  if (found === undefined && inMemory) return tooManyFailures();
  found = found && (await atItsHome(tools, claimant, found));
  if (found !== undefined && config.closedHomes.has(found.credentials.home)) {
    const { home } = found.credentials;
    trace.home = home;
    return refused("unavailable", "home_closed", homeClosed(home));
  }
  let result = await authenticate(found, signed);
  const mayBeStale = !result.ok && (result.reason === "signature_mismatch" || result.reason === "app_revoked");
  if (mayBeStale && found !== undefined && found.source !== "d1") {
    const than = found.credentials;
    const question = { trust: "home", because: "signature_failed", than, client } as const;
    const fresh = await credentials.lookUp(config, lifetime, question);
    if (fresh !== undefined) result = await authenticate(fresh, signed);
  }
  trace.credentialsMs = Math.round(runtime.elapsed() - since);
  return result.ok ? ok(result.caller) : countFailure(tools, claimant, result.reason);
}

/**
 * What was found; or when its home is closed and the directory has the app in another, what that has. That a closed home is the app's
 * says the directory, if it answers: a record of KV alone could be forged.
 */
async function atItsHome({ runtime, config, credentials }: Tools, claimant: Claimant, found: Found): Promise<Found> {
  if (!config.closedHomes.has(found.credentials.home) || found.source === "d1") return found;
  const { client, lifetime } = claimant;
  const answerBy = Math.min(lifetime.answerBy, runtime.elapsed() + CONFIRM_LIMIT_MS);
  const question = { trust: "directory", than: found.credentials, client } as const;
  return (await credentials.lookUp(config, { ...lifetime, answerBy }, question).catch(() => undefined)) ?? found;
}

/**
 * Verifies the caller once more by the word of its home, after the gate did not know the caller as the caches do. Null when the home
 * has the same as before.
 *
 * @throws ServiceError as CredentialResolver.lookUp does
 */
export async function verifyAtHome(tools: Tools, claimant: Claimant, caller: Caller): Promise<Result<Caller | null>> {
  const { config, credentials } = tools;
  const question = { trust: "home", because: "gate_refused", than: caller.credentials } as const;
  const result = await authenticate(await credentials.lookUp(config, claimant.lifetime, question), claimant.signed);
  if (!result.ok) return countFailure(tools, claimant, "credentials_stale");
  return ok(sameCaller(result.caller, caller) ? null : result.caller);
}

/** Verifies the caller once more by the word of the directory, after its home did not answer. Undefined when that changes nothing. */
export async function verifyElsewhere(tools: Tools, claimant: Claimant, caller: Caller): Promise<Caller | undefined> {
  const { config, credentials } = tools;
  const { client, lifetime, signed } = claimant;
  const found = await credentials.lookUp(config, lifetime, { trust: "directory", than: caller.credentials, client });
  const result = found && (await authenticate(found, signed));
  return result?.ok && !sameCaller(result.caller, caller) ? result.caller : undefined;
}

const sameCaller = (a: Caller, b: Caller): boolean =>
  a.siteId === b.siteId && a.home === b.home && a.secretVersion === b.secretVersion;

/**
 * Confirms the caller of a request that is refused before the batch checks its app: a revoked app, or one whose secret was replaced,
 * must get the answer for a wrong signature here too. When D1 may not be asked or does not answer, the caller counts as confirmed.
 *
 * @throws ServiceError `internal`
 */
export async function confirmCaller(tools: Tools, claimant: Claimant, caller: Caller): Promise<Result<null>> {
  if (caller.source === "d1") return ok(null);
  const { runtime, config, credentials } = tools;
  const { lifetime, signed } = claimant;
  const answerBy = Math.min(lifetime.answerBy, runtime.elapsed() + CONFIRM_LIMIT_MS);
  const [than, signature] = [caller.credentials, String(signed.signature)];
  const question = { trust: "home", because: "refused_anyway", than, signature } as const;
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

async function countFailure(tools: Tools, { appid, client, signed }: Claimant, reason: string): Promise<Refused> {
  const { config, limits, trace } = tools;
  // An unknown appid is not logged: a caller who mixes up fields may have sent a secret there.
  if (reason === "app_unknown") delete trace.appid;
  else trace.appid = appid;
  const count = (failure: "signed" | "unknown") =>
    limits.count(config.clientLimit, failureKey(failure, client), CLIENT_LIMIT_PERIOD);
  const [within] = await Promise.all([count("signed"), reason === "app_unknown" && count("unknown")]);
  if (!within) return tooManyFailures();
  // The same for every appid, known or not: it depends on the header alone.
  const detail = describeShape(signed.signature);
  return refused("token_invalid", reason, detail === undefined ? {} : { detail, tell: true });
}

const tooManyFailures = () => refused("too_many_requests", "client_limit", { retryAfter: CLIENT_LIMIT_PERIOD });
