import { NONCE_SECONDS } from "../../core/signed/kv-nonces.ts";
import { NONCE_REASONS } from "../../core/signed/refusal-reasons.ts";
import type { CallRules } from "../store/usage/count-calls.ts";

/** The rules of signed requests that counting calls needs. */
export const CALL_RULES: CallRules = {
  nonceSeconds: NONCE_SECONDS,
  nonceReasons: NONCE_REASONS,
};
