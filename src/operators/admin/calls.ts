import { agentCalls } from "./agents.ts";
import { appCalls } from "./apps.ts";
import { auditCalls } from "./audit.ts";
import { customerCalls } from "./customers.ts";
import { deliveryCalls } from "./deliveries.ts";
import { eventCalls } from "./events.ts";
import { homeCalls } from "./homes.ts";
import { journalCalls } from "./journal.ts";
import { secretCalls } from "./secrets.ts";
import { sessionCalls } from "./sessions.ts";
import { siteCalls } from "./sites.ts";
import { tokenCalls } from "./tokens.ts";
import { usageCalls } from "./usage.ts";
import { webhookCalls } from "./webhooks.ts";

/**
 * Every call of the admin API, in the order of openapi.json. Each answer names its fields one by one, so that no stored field is sent by
 * accident; SESSION_FIELDS names those of a session. The schemas of openapi/ describe the answers.
 */
export const ADMIN_CALLS = [
  ...siteCalls,
  ...appCalls,
  ...secretCalls,
  ...agentCalls,
  ...sessionCalls,
  ...customerCalls,
  ...homeCalls,
  ...journalCalls,
  ...usageCalls,
  ...auditCalls,
  ...tokenCalls,
  ...eventCalls,
  ...webhookCalls,
  ...deliveryCalls,
];

export type AdminCallId = (typeof ADMIN_CALLS)[number]["id"];
