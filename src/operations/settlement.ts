import { type ErrorCode, ServiceError } from "../errors.ts";
import type { Verdict } from "../store/home/claim.ts";

/** How a batch ended for the request that sent it. */
export type Settlement =
  /** Done now. `ignoredAgents`: whom add_kf left out, each with why, in the words of `x-ignored-agents`. */
  | { kind: "accepted"; sessionId: number; ignoredAgents?: string }
  /** Done before under the same Idempotency-Key and the same meaning. */
  | { kind: "repeated"; sessionId: number }
  /** Nothing written but the nonce. */
  | { kind: "refused"; refusal: ServiceError }
  /** Another request used this ranstr; nothing written. */
  | { kind: "replayed" }
  /** The app was revoked or its secret rotated away; nothing written. */
  | { kind: "credentials_stale" };

/**
 * Folds a verdict; `refusals` says, for each outcome of the operation's own, which code answers it and what detail helps.
 * A missing one fails to compile.
 */
export function settle<Outcome extends string>(
  verdict: Verdict<Outcome>,
  refusals: Record<Outcome, { code: ErrorCode; detail: (agentIds: number[]) => string }>,
): Settlement {
  if (verdict.claim === "replayed") return { kind: "replayed" };
  if (verdict.claim === "credentials_stale") return { kind: "credentials_stale" };
  const { outcome, sessionId, agents } = verdict;
  if (outcome === "accepted") return { kind: "accepted", sessionId };
  if (outcome === "repeated") return { kind: "repeated", sessionId };
  if (outcome === "key_reused") {
    const detail = "Idempotency-Key: was used for a request that meant something else";
    return { kind: "refused", refusal: new ServiceError("idempotency_key_reused", { reason: outcome, detail }) };
  }
  const { code, detail } = refusals[outcome];
  return { kind: "refused", refusal: new ServiceError(code, { reason: outcome, detail: detail(agents) }) };
}
