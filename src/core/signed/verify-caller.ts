import { homeClosed } from "../config.ts";
import type { FoundApp } from "../credentials/question.ts";
import { ok, type Result, refused } from "../result.ts";
import type { Trace } from "../telemetry/trace.ts";
import { authenticate, type Caller, type Claimant } from "./authenticate.ts";
import { countFailure } from "./count-failure.ts";
import { failureKey } from "./rate-limit.ts";
import type { RequestTools } from "./tools.ts";
import { lookAgain } from "./verify-again.ts";

/**
 * Verifies who sent a request. Credentials come from the caches, or from D1 when no cache has them. When a cached record is revoked or
 * does not verify the signature, a fresh record is read and tried once. Only failures count for the client's limit. The apps of a closed
 * home are refused without verification, because only the home knows which secret is in force.
 *
 * @throws ServiceError as CredentialResolver.lookUp does
 */
export async function verifyCaller(tools: RequestTools, claimant: Claimant): Promise<Result<Caller>> {
  const { runtime, config, credentials, limits, trace } = tools;
  const { appid, signed, client, lifetime } = claimant;
  const since = runtime.elapsed();
  trace.claimedAppid = appid;
  // An unknown appid costs a read of D1 each time. All Workers of a zone, and all users of a proxy, share one address. So honest callers
  // at an address take turns with callers who make up appids.
  const inTurn = limits.isExceeded(failureKey("unknown", client));
  let foundApp = await credentials.lookUp(config, lifetime, { trust: "cache", appid, inTurn });
  const isClosed = (app: FoundApp | undefined) => app !== undefined && config.closedHomes.has(app.credentials.home);
  if (foundApp !== undefined && isClosed(foundApp))
    foundApp = (await lookAgain(tools, claimant, foundApp, "home_closed")) ?? foundApp;
  if (foundApp !== undefined) noteApp(trace, foundApp.credentials);
  if (foundApp !== undefined && isClosed(foundApp)) {
    return refused("unavailable", "home_closed", homeClosed(foundApp.credentials.home));
  }
  let result = await authenticate(foundApp, signed);
  const mayBeStale = !result.ok && (result.reason === "signature_mismatch" || result.reason === "app_revoked");
  if (mayBeStale && foundApp !== undefined) {
    const freshApp = await lookAgain(tools, claimant, foundApp, "signature_failed");
    if (freshApp !== undefined && freshApp !== foundApp) {
      result = await authenticate(freshApp, signed);
      noteApp(trace, freshApp.credentials);
    }
  }
  trace.credentialsMs = Math.round(runtime.elapsed() - since);
  return result.ok ? ok(result.caller) : countFailure(tools, claimant, result.reason);
}

/** Notes the app that the request names, so that a refusal gets into the log and into the journal of the app's home. */
export function noteApp(trace: Trace, { siteId, appid, home, isRouted }: NonNullable<Trace["app"]>): void {
  trace.app = { siteId, appid, home, ...(isRouted && { isRouted }) };
  trace.appid = appid;
  trace.home = home;
}
