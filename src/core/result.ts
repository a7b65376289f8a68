import type { SignedErrorCode } from "./errors.ts";
import type { Violation } from "./rules.ts";

/** The result of a step or an operation: a value or a refusal. A caller's mistake is returned, never thrown. */
export type Result<T> = { ok: true; value: T } | Refused;

export interface Refused {
  ok: false;
  code: SignedErrorCode;
  /** The reason for the log: a short word that an operator can search for. Never data of the caller. */
  reason: string;
  /** Which field broke which rule, for `x-error-detail`, the log and the journal. */
  violations?: readonly Violation[];
  /** The caller may read the violations, because the signature was valid or the violations depend on no secret. */
  tellViolations?: true;
  /** Seconds, for `Retry-After`. */
  retryAfter?: number;
}

export const ok = <T>(value: T): Result<T> => ({ ok: true, value });

export const refused = (
  code: SignedErrorCode,
  reason: string,
  more: Pick<Refused, "violations" | "tellViolations" | "retryAfter"> = {},
) => ({ ok: false, code, reason, ...more }) satisfies Refused;
