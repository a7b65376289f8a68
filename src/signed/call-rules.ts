import type { CallRules } from "../store/home/count-calls.ts";
import { NONCE_SECONDS } from "./kv-nonces.ts";
import { NONCE_REASONS } from "./refusal-reasons.ts";

/** What counting calls needs to know of signed requests. */
export const CALL_RULES: CallRules = {
  nonceSeconds: NONCE_SECONDS,
  nonceReasons: NONCE_REASONS,
};
