import { TURN_RETRY_SECONDS } from "../credentials/look-up-turns.ts";
import { type Refused, refused } from "../result.ts";
import type { Claimant } from "./authenticate.ts";
import { CLIENT_LIMIT_PERIOD, failureKey } from "./rate-limit.ts";
import type { RequestTools } from "./tools.ts";
import { violationOfShape } from "./violation-of-shape.ts";

/** Refuses a request that no secret verifies, and counts it for the limit of its address. @param reason for the log */
export async function countFailure(
  tools: RequestTools,
  { client, signed }: Claimant,
  reason: string,
): Promise<Refused> {
  const { config, limits, trace } = tools;
  // An unknown appid is not logged, because a caller who mixes up the fields may send a secret as appid. The directory knows an appid
  // whose home has lost the app.
  if (reason === "app_unknown" && trace.app?.isRouted !== true) {
    delete trace.appid;
    delete trace.home;
    delete trace.app;
    delete trace.claimedAppid;
  }
  delete trace.secretVersion;
  const count = (failure: "signed" | "unknown") =>
    limits.count(config.clientLimit, failureKey(failure, client), CLIENT_LIMIT_PERIOD);
  const takesTurns = limits.isExceeded(failureKey("unknown", client));
  const [within] = await Promise.all([count("signed"), reason === "app_unknown" && count("unknown")]);
  // This is also the answer to an appid without a turn. A different answer would show whether an appid exists.
  if (takesTurns) return refused("too_many_requests", "client_limit", { retryAfter: TURN_RETRY_SECONDS });
  if (!within) return refused("too_many_requests", "client_limit", { retryAfter: CLIENT_LIMIT_PERIOD });
  // The violation depends only on the header, so it is the same for every appid, known or not.
  const violation = violationOfShape(signed.signature);
  return refused(
    "token_invalid",
    reason,
    violation === undefined ? {} : { violations: [violation], tellViolations: true },
  );
}
