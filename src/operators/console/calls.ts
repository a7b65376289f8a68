import { ACCESS_CALLS } from "./access/calls.ts";
import { AGENTS_CALLS } from "./agents/calls.ts";
import { APPS_CALLS } from "./apps/calls.ts";
import { AUDIT_CALLS } from "./audit/calls.ts";
import { CUSTOMERS_CALLS } from "./customers/calls.ts";
import type { ConsoleCall } from "./env.ts";
import { HOMES_CALLS } from "./homes/calls.ts";
import { JOURNAL_CALLS } from "./journal/calls.ts";
import { METRICS_CALLS } from "./metrics/calls.ts";
import { PEOPLE_CALLS } from "./people/calls.ts";
import { SEARCH_CALLS } from "./search/calls.ts";
import { SESSIONS_CALLS } from "./sessions/calls.ts";
import { SIGN_IN_CALLS } from "./sign-in/calls.ts";
import { SIGNATURE_CHECK_CALLS } from "./signature-check/calls.ts";
import { SITES_CALLS } from "./sites/calls.ts";
import { TOKENS_CALLS } from "./tokens/calls.ts";
import { WEBHOOKS_CALLS } from "./webhooks/calls.ts";

/** Every call of the console, with its role, its scope and the audit rows that it may write. */
export const CONSOLE_CALLS: readonly ConsoleCall[] = [
  ...SIGN_IN_CALLS,
  ...SITES_CALLS,
  ...APPS_CALLS,
  ...AGENTS_CALLS,
  ...WEBHOOKS_CALLS,
  ...SESSIONS_CALLS,
  ...CUSTOMERS_CALLS,
  ...JOURNAL_CALLS,
  ...SEARCH_CALLS,
  ...SIGNATURE_CHECK_CALLS,
  ...HOMES_CALLS,
  ...METRICS_CALLS,
  ...AUDIT_CALLS,
  ...PEOPLE_CALLS,
  ...TOKENS_CALLS,
  ...ACCESS_CALLS,
];
