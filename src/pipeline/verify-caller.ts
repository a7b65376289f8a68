import { homeClosed } from "../config.ts";
import { authenticate, type Caller, type SignedBytes } from "../credentials/authenticate.ts";
import type { Found, LookUp } from "../credentials/resolve-credentials.ts";
import { ServiceError } from "../errors.ts";
import { CLIENT_LIMIT_PERIOD, failureKey } from "../rate-limit.ts";
import { ok, type Refused, type Result, refused } from "../result.ts";
import { describeShape } from "../signing/describe-shape.ts";
import type { Tools } from "./tools.ts";

/** Timeout of D1 when it confirms a caller whose request is refused anyway, or that a closed home is the app's. */
const CONFIRM_LIMIT_MS = 1_000;

/** The appid that a request names, before its signature is verified. */
export interface Claimant {
  appid: string;
  signed: SignedBytes;
  /** The address that failures are counted under. */
  client: string;
  lookUp: LookUp;
}

/**
 * Verifies who sent a request. Credentials come from the caches, else from D1. When the signature fails on a cached record, or the
 * cached record is revoked, a fresh record is read and tried once. Only failures count for the client's limit. The apps of a closed
 * home are refused before anything is verified: whether a secret was replaced is known only to the home. That a closed home is theirs
 * says the directory, if it answers: a record of KV alone could be forged.
 *
 * @throws ServiceError as CredentialResolver.load does
 */
export async function verifyCaller(tools: Tools, claimant: Claimant): Promise<Result<Caller>> {
  const { runtime, config, credentials, limits, trace } = tools;
  const { appid, signed, client, lookUp } = claimant;
  const since = runtime.elapsed();
  let found: Found | undefined = credentials.cached(appid);
  if (found === undefined) {
    // The look-up of an invented appid costs one read of KV and one of D1.
    if (!limits.isPassed(failureKey("unknown", client))) found = await credentials.load(config, appid, lookUp);
    else {
      // Over its limit a client gets no look-up, only what this isolate already knows.
      found = credentials.known(appid);
      if (found === undefined) return tooManyFailures();
    }
  }
  found = found && (await atItsHome(tools, claimant, found));
  if (found !== undefined && config.closedHomes.has(found.credentials.home)) {
    const { home } = found.credentials;
    trace.home = home;
    return refused("unavailable", "home_closed", homeClosed(home));
  }
  let result = await authenticate(found, signed);
  const mayBeStale = !result.ok && (result.reason === "signature_mismatch" || result.reason === "app_revoked");
  if (mayBeStale && found !== undefined && found.source !== "d1") {
    const fresh = await credentials.refresh(config, found.credentials, client, lookUp);
    if (fresh !== undefined) result = await authenticate(fresh, signed);
  }
  trace.credentialsMs = Math.round(runtime.elapsed() - since);
  return result.ok ? ok(result.caller) : countFailure(tools, claimant, result.reason);
}
verifyCaller.kind = "writes" as const;

/** What was found; or when its home is closed and the directory has the app in another, what that has. */
async function atItsHome({ runtime, config, credentials }: Tools, claimant: Claimant, found: Found): Promise<Found> {
  if (!config.closedHomes.has(found.credentials.home) || found.source === "d1") return found;
  const { client, lookUp } = claimant;
  const answerBy = Math.min(lookUp.answerBy, runtime.elapsed() + CONFIRM_LIMIT_MS);
  const elsewhere = credentials.relocate(config, found.credentials, client, { ...lookUp, answerBy });
  return (await elsewhere.catch(() => undefined)) ?? found;
}

/**
 * Verifies the caller once more on D1's record, after the home did not know the caller as the caches do. Null when D1 has the same as
 * before.
 *
 * @throws ServiceError as CredentialResolver.load does
 */
export async function verifyAgain(tools: Tools, claimant: Claimant, caller: Caller): Promise<Result<Caller | null>> {
  const { config, credentials } = tools;
  const fresh =
    credentials.newer(caller.credentials) ?? (await credentials.reload(config, caller.credentials, claimant.lookUp));
  const result = await authenticate(fresh, claimant.signed);
  if (!result.ok) return countFailure(tools, claimant, "credentials_stale");
  return ok(isSame(result.caller, caller) ? null : result.caller);
}
verifyAgain.kind = "writes" as const;

/** Verifies the caller once more where the directory has the app now, after its home did not answer. Undefined when that changes nothing. */
export async function verifyElsewhere(tools: Tools, claimant: Claimant, caller: Caller): Promise<Caller | undefined> {
  const { config, credentials } = tools;
  const found = await credentials.relocate(config, caller.credentials, claimant.client, claimant.lookUp);
  const result = found && (await authenticate(found, claimant.signed));
  return result?.ok && !isSame(result.caller, caller) ? result.caller : undefined;
}
verifyElsewhere.kind = "writes" as const;

const isSame = (a: Caller, b: Caller): boolean =>
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
  const answerBy = Math.min(claimant.lookUp.answerBy, runtime.elapsed() + CONFIRM_LIMIT_MS);
  let fresh: Found | undefined;
  try {
    const signature = String(claimant.signed.signature);
    fresh = await credentials.confirm(config, caller.credentials, signature, { ...claimant.lookUp, answerBy });
  } catch (error) {
    if (error instanceof ServiceError && error.code === "unavailable") return ok(null);
    throw error;
  }
  const result = await authenticate(fresh, claimant.signed);
  return result.ok ? ok(null) : countFailure(tools, claimant, result.reason);
}
confirmCaller.kind = "writes" as const;

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
