import type { FoundApp, Question } from "../credentials/question.ts";
import { ServiceError } from "../errors.ts";
import { ok, type Result } from "../result.ts";
import { authenticate, type Caller, type Claimant } from "./authenticate.ts";
import { countFailure } from "./count-failure.ts";
import type { RequestTools } from "./tools.ts";

/** Why the record from the caches is not enough. */
type VerificationCause = "home_closed" | "signature_failed" | "gate_refused" | "home_silent" | "refused_anyway";

interface VerificationWay {
  /** Whose record counts: that of the app's home, or that of the directory when it names another home. */
  trust: "home" | "directory";
  /** How often D1 may be asked: credentials/look-up-bounds.ts. */
  bound: Extract<Question, { bound: unknown }>["bound"];
  /** How long the request waits for the answer, in milliseconds. Absent: until its own deadline. */
  waitMs?: number;
  /** Whether even a record that D1 has just given is looked up again. */
  evenFromD1?: true;
  /** When the known record is used in place of an error. Absent: never. */
  keepKnownRecord?: "when nobody answers" | "on any error";
}

/** The time for confirming the caller of a request that is refused anyway, or for confirming that an app is in a closed home. */
const CONFIRM_LIMIT_MS = 1_000;

const WAY_OF_CAUSE: Record<VerificationCause, VerificationWay> = {
  // The app may have left the closed home, and a record of KV could be forged. The directory is not asked when it is closed itself.
  home_closed: { trust: "directory", bound: "address", waitMs: CONFIRM_LIMIT_MS, keepKnownRecord: "on any error" },
  // The secret may have been rotated, or a restore may have undone a revocation.
  signature_failed: { trust: "home", bound: "address" },
  // The home does not confirm the record. The signature was right, so no forger can cause this look-up.
  gate_refused: { trust: "home", bound: "none", evenFromD1: true },
  // The app may be in another home by now.
  home_silent: { trust: "directory", bound: "address", evenFromD1: true },
  // A revoked app or a replaced secret must get the answer of a wrong signature, whatever else is wrong with the request.
  refused_anyway: {
    trust: "home",
    bound: "signature",
    waitMs: CONFIRM_LIMIT_MS,
    keepKnownRecord: "when nobody answers",
  },
};

/**
 * Looks an app up again, without the caches.
 *
 * @returns the record that counts now. Undefined when the trusted home has no such app, when the directory names no other home, or when
 *   another request has just found nothing new
 * @throws ServiceError as CredentialResolver.lookUp does
 */
export async function lookAgain(
  { runtime, config, credentials }: RequestTools,
  { client, lifetime, signed }: Claimant,
  knownApp: FoundApp,
  cause: VerificationCause,
): Promise<FoundApp | undefined> {
  const { trust, bound, waitMs = Number.POSITIVE_INFINITY, evenFromD1, keepKnownRecord } = WAY_OF_CAUSE[cause];
  if (knownApp.source === "d1" && evenFromD1 !== true) return knownApp;
  const answerBy = Math.min(lifetime.answerBy, runtime.elapsed() + waitMs);
  const question = { trust, bound, cached: knownApp.credentials, client, signature: signed.signature };
  try {
    return await credentials.lookUp(config, { ...lifetime, answerBy }, question);
  } catch (error) {
    const isUnanswered = error instanceof ServiceError && error.code === "unavailable";
    if (keepKnownRecord === "on any error" || (keepKnownRecord !== undefined && isUnanswered)) return knownApp;
    throw error;
  }
}

/**
 * Verifies the caller of a request again.
 *
 * @returns the caller by the record that counts now. Null when nothing is new, but never after `gate_refused`
 * @throws ServiceError as CredentialResolver.lookUp does
 */
export async function verifyAgain(
  tools: RequestTools,
  claimant: Claimant,
  caller: Caller,
  cause: "gate_refused",
): Promise<Result<Caller>>;
export async function verifyAgain(
  tools: RequestTools,
  claimant: Claimant,
  caller: Caller,
  cause: "home_silent" | "refused_anyway",
): Promise<Result<Caller | null>>;
export async function verifyAgain(
  tools: RequestTools,
  claimant: Claimant,
  caller: Caller,
  cause: "gate_refused" | "home_silent" | "refused_anyway",
): Promise<Result<Caller | null>> {
  const foundAgain = await lookAgain(tools, claimant, caller, cause);
  // Nothing was asked, or nothing is new.
  if (foundAgain === caller || (foundAgain === undefined && cause === "home_silent")) return ok(null);
  const result = await authenticate(foundAgain, claimant.signed);
  // After `gate_refused` even the same record meets the gate again: a change of the site's events may have been undone.
  if (result.ok) return ok(cause !== "gate_refused" && sameCaller(result.caller, caller) ? null : result.caller);
  // The directory's record does not verify, so the request waits for the silent home.
  if (cause === "home_silent") return ok(null);
  return countFailure(tools, claimant, cause === "gate_refused" ? "credentials_stale" : result.reason);
}

const sameCaller = (a: Caller, b: Caller): boolean =>
  a.siteId === b.siteId && a.home === b.home && a.secretVersion === b.secretVersion;
