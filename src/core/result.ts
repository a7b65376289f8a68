import type { SignedErrorCode } from "./errors.ts";

/** The result of a step or an operation: a value or a refusal. A caller's mistake is returned, never thrown. */
export type Result<T> = { ok: true; value: T } | Refused;

export interface Refused {
  ok: false;
  code: SignedErrorCode;
  /** The reason for the log: a short word that an operator can search for. Never data of the caller. */
  reason: string;
  /**
   * Which field broke which rule, for `x-error-detail` and the log. English ASCII. It may quote ids that the caller sent, and no
   * other values.
   */
  detail?: string;
  /** The caller may read the detail, because the signature was valid or the detail depends on no secret. */
  tell?: true;
  /** Seconds, for `Retry-After`. */
  retryAfter?: number;
}

export const ok = <T>(value: T): Result<T> => ({ ok: true, value });

export const refused = (
  code: SignedErrorCode,
  reason: string,
  more: Pick<Refused, "detail" | "tell" | "retryAfter"> = {},
) => ({ ok: false, code, reason, ...more }) satisfies Refused;
