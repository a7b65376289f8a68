import type { SignedErrorCode } from "./errors.ts";

/** What a step or an operation comes to: a value, or why the request is refused. What a caller did wrong is never thrown. */
export type Result<T> = { ok: true; value: T } | Refused;

export interface Refused {
  ok: false;
  code: SignedErrorCode;
  /** A short word for the log: why, in terms an operator can search for. Never data of the caller. */
  reason: string;
  /** English ASCII for `x-error-detail` and the log: which field, which rule. Never a value that the caller sent, but ids. */
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
