import type { SignedErrorCode } from "../errors.ts";
import { OPERATIONS } from "../operations/index.ts";

/**
 * The reasons for which a signed call with the appid of a site can be refused, each with the code of the answer. The operations' own
 * rules have further reasons. `app_unknown` is here because a restored home may have lost the app. Reasons from before the appid is
 * read, such as `body_not_json`, are in the log only. A test compares this list with the code.
 */
export const COMMON_REASONS = {
  signature_missing: "token_invalid",
  signature_malformed: "token_invalid",
  signature_mismatch: "token_invalid",
  app_unknown: "token_invalid",
  app_revoked: "token_invalid",
  credentials_stale: "token_invalid",
  timestamp_stale: "token_invalid",
  timestamp_ahead: "token_invalid",
  ranstr_seen_here: "token_invalid",
  ranstr_seen_by_kv: "token_invalid",
  ranstr_claimed_in_d1: "token_invalid",
  fields_invalid: "invalid_parameters",
  idempotency_key_malformed: "invalid_parameters",
  drill_unknown: "invalid_parameters",
  key_reused: "idempotency_key_reused",
  app_limit: "too_many_requests",
  site_limit: "too_many_requests",
  malformed_limit: "too_many_requests",
  client_limit: "too_many_requests",
  drill_busy: "unavailable",
  site_closed: "unavailable",
  home_closed: "unavailable",
  home_unbound: "unavailable",
  d1_unavailable: "unavailable",
  d1_stalled: "unavailable",
  d1_answer_incomplete: "unavailable",
  d1_not_migrated: "unavailable",
  d1_statement_refused: "internal",
  master_key_wrong: "internal",
  configuration: "internal",
  unexpected: "internal",
} as const satisfies Record<string, SignedErrorCode>;

/** The code of each reason that the journal can have. */
const CODES: Readonly<Record<string, SignedErrorCode>> = {
  ...COMMON_REASONS,
  ...Object.fromEntries(
    OPERATIONS.flatMap(({ refusals }) => Object.entries(refusals).map(([reason, { code }]) => [reason, code])),
  ),
};

/** The reasons of refused calls that have used up their ranstr. The nonce holds the reason too. */
export const NONCE_REASONS: readonly string[] = [
  "key_reused",
  ...OPERATIONS.flatMap(({ refusals }) => Object.keys(refusals)),
];

/** Every reason that the journal can have. */
export const REFUSAL_REASONS: readonly string[] = Object.keys(CODES);

/** The code of the answer to a call that was refused for this reason. */
export const codeOfReason = (reason: string): SignedErrorCode => CODES[reason] ?? "internal";
