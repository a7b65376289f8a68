import type { SignedErrorCode } from "./errors.ts";

/** The result of a step or an operation: a value, or a refusal. A mistake of the caller is never thrown. */
export type Result<T> = { ok: true; value: T } | Refused;

export interface Refused {
  ok: false;
  code: SignedErrorCode;
  /** Why, as a short word for the log that an operator can search for. Never data of the caller. */
  reason: string;
  /** Which field broke which rule, in English ASCII, for `x-error-detail` and the log. Of sent values it may hold ids only. */
  detail?: string;
  /** The caller may read the detail: the signature was valid, or it depends on no secret. */
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
