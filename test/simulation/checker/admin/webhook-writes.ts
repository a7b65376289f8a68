import { EVENT_TYPES } from "../../operations/index.ts";
import type { Row } from "../../platform/database.ts";
import { deliveryRow, eventRow } from "../events/expected-event.ts";
import type { Model } from "../model.ts";
import { secretIn } from "../row-secrets.ts";
import type { Operation, OperationOf, Written } from "./intents.ts";
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
      return wrongChange({ ...operation, intent }, change);
    case "rotateWebhook":
      return wrongRotate(model, { ...operation, intent }, change);
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
    ...{
      site_id,
      url,
      events:
        events === undefined && isAll(after?.events) ? String(after?.events) : JSON.stringify([...new Set(events)]),
      status: "enabled",
      disabled_reason: null,
    },
    ...{ previous_version: null, previous_secret: null, previous_expires_at: null, failing_since: null },
    ...{ created_at: call.clock, revision: 0 },
  });
}

function wrongChange({ intent }: OperationOf<"changeWebhook">, change: Written): string | undefined {
  const { webhookId, siteId, url, events, status } = intent;
  const { table, before } = change;
  if (table === "deliveries") {
    const isLeftover = status === "disabled" && isOf(intent, before) && before?.status === "pending";
    return isLeftover ? fails(change) : "not a leftover of a webhook that was disabled";
  }
  if (table !== "webhooks" || before?.id !== webhookId || before.site_id !== siteId) return "not the webhook";
  const isAnew = (url !== undefined && url !== before.url) || (status !== undefined && status !== before.status);
  return becomes(change, {
    revision: Number(before.revision) + 1,
    ...(url !== undefined && { url }),
    ...(events !== undefined && { events: JSON.stringify([...new Set(events)]) }),
    ...(status !== undefined && { status }),
    ...(status === "enabled" && { disabled_reason: null }),
    ...(isAnew && { failing_since: null }),
  });
}

/** Why a change is not the failure of a delivery whose webhook was disabled; undefined when it is. */
const fails = (change: Written): string | undefined =>
  becomes(change, { status: "failed", next_attempt_at: null, claim: null, last_error: DISABLED });

function wrongRotate(model: Model, { call, intent, changes }: OperationOf<"rotateWebhook">, change: Written) {
  const { siteId, webhookId, overlap } = intent;
  const { table, before, after } = change;
  if (table !== "webhooks" || before?.id !== webhookId || before.site_id !== siteId) return "not the webhook";
  const isItsOwn = changes.some(({ after: row }) => row?.version === before.version);
  if (isItsOwn) return "the call has rotated already";
  if (after === null || model.secrets.has(String(after.version))) return "its version was given before";
  const current = secretIn(call.settings, after, "current");
  const previous = secretIn(call.settings, after, "previous");
  if (current === undefined || !SECRET.test(current)) return "its seal does not hold a secret";
  if (previous !== model.secrets.get(String(before.version))) return "the secret of before is not kept";
  if (current === previous) return "the secret is the same";
  model.secrets.set(String(after.version), current);
  const { version = "", secret = "", previous_secret = "" } = after;
  const [previous_version = "", previous_expires_at] = [before.version, call.clock + overlap];
  return becomes(change, { version, secret, previous_secret, previous_version, previous_expires_at });
}

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
  return inserts(change, deliveryRow(event, webhookId, clock).after);
}

function wrongRedeliver(model: Model, { call, intent }: OperationOf<"redeliver">, change: Written): string | undefined {
  const { siteId, webhookId, seq } = intent;
  const { table, before, after } = change;
  const { outbox } = model.home(change.home);
  const event = outbox.events.get(`${siteId}/${seq}`);
  if (table !== "deliveries" || !isOf(intent, after) || after?.seq !== seq) return "not the delivery";
  if (event === undefined || event.data === null) return "there is nothing to deliver";
  if (outbox.webhooks.get(`${siteId}/${webhookId}`)?.status !== "enabled") return "the webhook is not enabled";
  const isInFlight = before?.claim != null && Number(before.next_attempt_at) > call.clock;
  if (isInFlight) return "an attempt is in flight";
  const fresh = deliveryRow(event, webhookId, call.clock).after;
  // A delivery is kept as long as its event, so it takes the event's time.
  if (before === null) return inserts(change, { ...fresh, created_at: event.created_at ?? 0 });
  return becomes(change, { ...fresh, created_at: before.created_at ?? 0 });
}
