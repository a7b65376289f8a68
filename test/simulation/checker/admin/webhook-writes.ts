import { EVENT_TYPES } from "../../operations/index.ts";
import type { Row } from "../../platform/database.ts";
import { FIRST_IN_LINE } from "../deliveries/leases.ts";
import { leftover } from "../deliveries/results.ts";
import { WELL } from "../deliveries/webhook-health.ts";
import { deliveryRow, eventRow } from "../events/expected-event.ts";
import type { Model } from "../model.ts";
import { secretIn } from "../row-secrets.ts";
import type { Operation, OperationOf, Written } from "./intents.ts";
import { wrongRedeliveryOf, wrongRenewal } from "./redeliveries.ts";
import { wrongEnd, wrongRotation } from "./rotations.ts";
import { becomes, inserts } from "./row-changes.ts";
import type { WebhookIntent } from "./webhook-intents.ts";

/**
 * What each call about webhooks may write: docs/operating.md, "Events". Each function returns how one change is wrong.
 */

export const DISABLED = "the webhook is disabled";
const WEBHOOK_ID = /^wh_[0-9a-f]{32}$/;
const SECRET = /^whsec_[A-Za-z0-9+/]{43}=$/;

export function wrongWebhookWrite(
  model: Model,
  operation: Operation<WebhookIntent>,
  change: Written,
): string | undefined {
  const { intent } = operation;
  if (change.home !== model.directory.get(intent.siteId)?.home) return "not the site's home";
  switch (intent.kind) {
    case "addWebhook":
      return wrongAdd(model, { ...operation, intent }, change);
    case "changeWebhook":
      return wrongChange(model, { ...operation, intent }, change);
    case "rotateWebhook":
      return wrongRotate(model, { ...operation, intent }, change);
    case "endWebhookOverlap":
      return isOfWebhook(intent, change) ? wrongEnd(intent.expected, operation.changes, change) : "not the webhook";
    case "deleteWebhook": {
      const { table, before, after } = change;
      if (after !== null) return "it only removes";
      if (table === "deliveries") return isOf(intent, before) ? undefined : "another webhook's";
      return table === "webhooks" && before?.id === intent.webhookId ? undefined : "not the webhook";
    }
    case "ping":
      return wrongPing(model, { ...operation, intent }, change);
    case "redeliver":
      return wrongRedeliver(model, { ...operation, intent }, change);
    case "redeliverMany":
      return wrongRedeliveryOf(model, { ...operation, intent }, change);
  }
}

/** Whether a webhook whose types nobody chose gets every type of event, in any order. */
const isAll = (events: unknown): boolean =>
  JSON.stringify((JSON.parse(String(events)) as string[]).toSorted()) === JSON.stringify(EVENT_TYPES.toSorted());

const isOf = ({ siteId, webhookId }: { siteId: number; webhookId: string }, row: Row | null): boolean =>
  row?.site_id === siteId && row.webhook_id === webhookId;

function wrongAdd(model: Model, { call, intent, changes }: OperationOf<"addWebhook">, change: Written) {
  const { siteId: site_id, url, events } = intent;
  const { table, before, after } = change;
  if (table === "home_sites") {
    if (model.home(change.home).outbox.webhooksOf(site_id).length > 0) return "it is not the site's first webhook";
    const isOnce = changes.every((each) => each.table !== table) && before?.events === 0 && before.site_id === site_id;
    return isOnce ? becomes(change, { events: 1 }) : "its events are on already";
  }
  if (table !== "webhooks") return "not the place of a webhook";
  if (changes.some((each) => each.table === table)) return "the call has made one already";
  const version = String(after?.version);
  if (!WEBHOOK_ID.test(String(after?.id)) || model.webhookIds.has(String(after?.id))) return "its id is not its own";
  model.webhookIds.add(String(after?.id));
  if (model.home(change.home).outbox.webhooksOf(site_id).length >= 10) return "the site has ten";
  if (model.secrets.has(version)) return "its version was given before";
  const secret = after === null ? undefined : secretIn(call.settings, after, "current");
  if (secret === undefined || !SECRET.test(secret)) return "its seal does not hold a secret";
  model.secrets.set(version, secret);
  return inserts(change, {
    site_id,
    url,
    events: events === undefined && isAll(after?.events) ? String(after?.events) : JSON.stringify([...new Set(events)]),
    status: "enabled",
    disabled_reason: null,
    previous_version: null,
    previous_secret: null,
    previous_expires_at: null,
    ...WELL,
    health_since: null,
    created_at: call.clock,
    revision: 0,
    disabled_at: null,
  });
}

function wrongChange(
  model: Model,
  { call, intent }: OperationOf<"changeWebhook">,
  change: Written,
): string | undefined {
  const { webhookId, siteId, url, events, status } = intent;
  const { table, before } = change;
  if (before === null || change.after === null) return "it adds and removes nothing";
  if (table === "deliveries") {
    if (!isOf(intent, before) || before.status !== "pending") return "not a pending delivery of the webhook";
    const webhook = model.home(change.home).outbox.webhookOf(before);
    const isDisabled = (status ?? webhook?.status) === "disabled";
    if (isDisabled && change.after.status === "failed") return becomes(change, leftover(before));
    return url === undefined ? "nobody asked for it" : movesUp(change, call.clock);
  }
  if (table !== "webhooks" || before.id !== webhookId || before.site_id !== siteId) return "not the webhook";
  const isMoved = url !== undefined && url !== before.url;
  const isEnabled = status === "enabled" && before.status === "disabled";
  const isDisabled = status === "disabled" && before.status === "enabled";
  const asked = {
    revision: Number(before.revision) + 1,
    ...(url !== undefined && { url }),
    ...(events !== undefined && { events: JSON.stringify([...new Set(events)]) }),
    ...(status !== undefined && { status }),
    ...(status === "enabled" && { disabled_reason: null, disabled_at: null }),
    ...(isDisabled && { disabled_at: call.clock }),
    ...((isMoved || isEnabled) && { ...WELL, health_since: call.clock }),
  };
  const wrong = becomes(change, asked);
  // A webhook that an operator disables may forget since when it fails.
  return isDisabled ? wrong && becomes(change, { ...asked, ...WELL }) : wrong;
}

/**
 * Why a change is not what a new URL does to a pending delivery: it is due now, and an attempt in flight counts as sent
 * again.
 */
function movesUp(change: Written, now: number): string | undefined {
  const { before, after } = change;
  if (before?.claim != null && Number(before.next_attempt_at) > now) return becomes(change, { attempts: 0 });
  return becomes(change, { next_attempt_at: now, claim: after?.claim ?? null });
}

function wrongRotate(model: Model, { call, intent, changes }: OperationOf<"rotateWebhook">, change: Written) {
  const { before, after } = change;
  if (!isOfWebhook(intent, change)) return "not the webhook";
  if (changes.some(({ after: row }) => row?.version === before?.version)) return "the call has rotated already";
  const secret = after === null ? undefined : secretIn(call.settings, after, "current");
  if (secret === undefined || !SECRET.test(secret)) return "its seal does not hold a secret";
  return wrongRotation(model, intent, call, change);
}

const isOfWebhook = ({ siteId, webhookId }: { siteId: number; webhookId: string }, { table, before }: Written) =>
  table === "webhooks" && before?.id === webhookId && before.site_id === siteId;

function wrongPing(model: Model, { call, intent, changes }: OperationOf<"ping">, change: Written): string | undefined {
  const { siteId, webhookId } = intent;
  const { clock } = call;
  const { table } = change;
  if (changes.some((each) => each.table === table)) return "the call has done that already";
  const home = model.home(change.home);
  if (table === "events") {
    const data = { webhook_id: webhookId };
    const { after, json } = eventRow(home, { siteId, type: "ping", sessionId: null, clock, data });
    const said = JSON.stringify(JSON.parse(String(change.after?.data)));
    return inserts(change, after) ?? (said === JSON.stringify(json) ? undefined : `its data is ${said}`);
  }
  const event = changes.find((each) => each.table === "events")?.after;
  if (table !== "deliveries" || event == null) return "not the place of a ping";
  if (home.outbox.webhooks.get(`${siteId}/${webhookId}`)?.status !== "enabled") return "the webhook is not enabled";
  return inserts(change, { ...deliveryRow(event, webhookId, clock).after, next_attempt_at: FIRST_IN_LINE });
}

function wrongRedeliver(model: Model, { call, intent }: OperationOf<"redeliver">, change: Written): string | undefined {
  const { siteId, webhookId, seq } = intent;
  const { table, after } = change;
  const home = model.home(change.home);
  if (table !== "deliveries" || !isOf(intent, after) || after?.seq !== seq) return "not the delivery";
  if (home.outbox.webhooks.get(`${siteId}/${webhookId}`)?.status !== "enabled") return "the webhook is not enabled";
  return wrongRenewal(home, call, change, 0);
}
