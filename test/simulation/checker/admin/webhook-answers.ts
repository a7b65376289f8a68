import { EVENT_TYPES } from "../../operations/index.ts";
import type { Row } from "../../platform/database.ts";
import type { Settings } from "../../world/cloud/settings.ts";
import type { OutboxModel } from "../events/outbox-model.ts";
import type { HomeModel } from "../home-model.ts";
import type { Model } from "../model.ts";
import type { Intent, Operation } from "./intents.ts";
import { answerable } from "./late-tries.ts";
import { refusedRedelivery, wrongRedeliveryAnswer } from "./redeliveries.ts";
import { isContradictory, statusOfRotation, untilShown, wrongEndAnswer } from "./rotations.ts";
import type { WebhookIntent } from "./webhook-intents.ts";
import { webhookShown } from "./webhook-reads.ts";

/** The answers of calls about webhooks: docs/operating.md, "Events". */

/** @returns undefined for calls about anything else */
export function statusOfWebhooks(
  home: HomeModel,
  intent: Intent,
  { clock, settings }: { clock: number; settings: Settings },
): number | undefined {
  const { outbox } = home;
  if (intent.kind === "addWebhook") {
    if (!isPostable(intent.url) || !areTypes(intent.events)) return 400;
    if (!home.sites.has(intent.siteId) || home.deletions.has(intent.siteId)) return 404;
    return outbox.webhooksOf(intent.siteId).length >= 10 ? 400 : 201;
  }
  if (!("webhookId" in intent)) return undefined;
  const { siteId, webhookId } = intent;
  const webhook = outbox.webhooks.get(`${siteId}/${webhookId}`);
  if (intent.kind === "changeWebhook" && !areTypes(intent.events)) return 400;
  if (intent.kind === "changeWebhook" && intent.url !== undefined && !isPostable(intent.url)) return 400;
  if (intent.kind === "rotateWebhook" && isContradictory(intent)) return 400;
  const refused = intent.kind === "redeliverMany" ? refusedRedelivery(intent, clock) : undefined;
  if (refused !== undefined) return refused;
  if (webhook === undefined) return 404;
  switch (intent.kind) {
    case "changeWebhook": {
      const isEnding = intent.status === "enabled" && leftPending(outbox, webhook) !== undefined;
      return isEnding ? 409 : 200;
    }
    case "redeliverMany":
      return webhook.status === "enabled" ? (intent.isDry ? 200 : 202) : 409;
    case "rotateWebhook":
      return statusOfRotation(intent, webhook, clock, settings);
    case "endWebhookOverlap":
      return intent.expected === undefined || intent.expected === webhook.version ? 200 : 409;
    case "deleteWebhook":
      return 204;
    case "ping":
      return webhook.status === "enabled" ? 202 : 409;
    case "redeliver": {
      if (webhook.status !== "enabled") return 409;
      const event = outbox.events.get(`${siteId}/${intent.seq}`);
      return event === undefined ? 404 : event.data === null ? 409 : 202;
    }
  }
}

const areTypes = (events: string[] | undefined): boolean =>
  events === undefined || (events.length > 0 && events.every((type) => EVENT_TYPES.includes(type)));

/** Suffixes of private networks' names: docs/operating.md, "Where events may be posted". */
const PRIVATE_NAMES = [
  "localhost",
  "local",
  "localdomain",
  "internal",
  "intranet",
  "private",
  "corp",
  "home",
  "lan",
  "svc",
  "consul",
  "alt",
  "arpa",
  "test",
  "invalid",
  "example",
  "onion",
];

/**
 * docs/operating.md, "Where events may be posted". Only `npm start` allows loopback, and the simulation runs as
 * deployed.
 */
export function isPostable(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || text.length > 2_048 || url.protocol !== "https:" || url.port !== "") return false;
  if (url.username !== "" || url.password !== "" || /[\s#]/.test(text)) return false;
  const host = url.hostname.replace(/\.$/, "");
  const isLiteral = host.startsWith("[") || /^[\d.]+$/.test(host);
  return !isLiteral && host.includes(".") && !PRIVATE_NAMES.some((name) => `.${host}`.endsWith(`.${name}`));
}

/** @returns how a 2xx answer about a webhook is wrong */
export function wrongWebhookAnswer(
  model: Model,
  operation: Operation<WebhookIntent>,
  body: Record<string, unknown>,
): string | undefined {
  const { call, intent, changes } = operation;
  const last = (name: string): Row | undefined => changes.findLast(({ table }) => table === name)?.after ?? undefined;
  const home = model.home(model.directory.get(intent.siteId)?.home ?? "");
  const webhook = last("webhooks");
  const secret = model.secrets.get(String(webhook?.version));
  const isMoved =
    webhook?.status !== "disabled" &&
    changes.some(({ table, after }) => table === "deliveries" && after?.status === "pending");
  // A second try after a fault may find that what was pending has been delivered or erased meanwhile.
  const isOver = call.faults.length > 0 && body.pending === 0;
  const isDue = intent.kind === "ping" || intent.kind === "redeliver" || (isMoved && !isOver);
  if (isDue && !call.trips.some(({ to }) => to.startsWith("EVENTS "))) return "the queue was not told";
  // A second try answers with the webhook as it is then, with changes of other calls since the first try.
  const { pending, failed, oldest_pending_at, ...rest } = body;
  const unlikeNow = (more: object) => {
    const rows = [webhook, home.outbox.webhooks.get(`${webhook?.site_id}/${webhook?.id}`)].filter((row) => row != null);
    const wrong = rows.map((row) => unlike(rest, { ...webhookShown(home.outbox, row), ...more }));
    return wrong.includes(undefined) ? undefined : wrong[0];
  };
  // The numbers of deliveries change too fast to be compared: a read of the list is.
  const hasNumbers = [pending, failed].every((number) => Number.isInteger(number)) && oldest_pending_at !== undefined;
  const showsWebhook = intent.kind === "addWebhook" || intent.kind === "changeWebhook";
  if (showsWebhook && !hasNumbers) return "it does not say how many deliveries are pending and failed";
  switch (intent.kind) {
    case "addWebhook":
      return webhook === undefined ? "it made no webhook" : unlikeNow({ secret });
    case "changeWebhook": {
      const { url, events, status } = intent;
      const types = events && JSON.stringify([...new Set(events)]);
      const named = Object.entries({ url, events: types, status }).filter(([, value]) => value !== undefined);
      const rows = answerable(operation, "webhooks", Object.fromEntries(named) as Row);
      const wrong = rows.map((row) => unlike(rest, webhookShown(home.outbox, row)));
      return wrong.includes(undefined) ? undefined : (wrong.at(-1) ?? "it changed nothing");
    }
    case "rotateWebhook": {
      if (webhook === undefined) return "it did not rotate";
      const { version } = webhook;
      const now = home.outbox.webhooks.get(`${intent.siteId}/${intent.webhookId}`);
      const wrong = untilShown(webhook, now).map((previous_expires_at) =>
        unlike(body, { secret, version, previous_expires_at }),
      );
      return wrong.includes(undefined) ? undefined : wrong[0];
    }
    case "endWebhookOverlap":
      return wrongEndAnswer(body, operation.rows);
    case "deleteWebhook": {
      const { siteId: site_id, webhookId: id } = intent;
      return home.outbox.webhooks.has(`${site_id}/${id}`) ? "the webhook is there" : undefined;
    }
    case "redeliverMany":
      return wrongRedeliveryAnswer({ ...operation, intent }, body);
    case "ping":
      return unlike(body, { event_id: last("events")?.id });
    case "redeliver": {
      const event = home.outbox.events.get(`${intent.siteId}/${intent.seq}`);
      return event === undefined ? undefined : unlike(body, { event_id: event.id, seq: intent.seq });
    }
  }
}

/** What is still pending for a disabled webhook; undefined when nothing is. */
export function leftPending(outbox: OutboxModel, { site_id, id }: Row): string | undefined {
  const now = outbox.webhooks.get(`${site_id}/${id}`);
  if (now?.status !== "disabled") return undefined;
  const left = outbox.deliveriesOf(now).find(({ status }) => status === "pending");
  return left && `${JSON.stringify(left)} stays pending`;
}

const unlike = (body: object, expected: object): string | undefined => {
  const sorted = (value: object) => JSON.stringify(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  return sorted(body) === sorted(expected) ? undefined : `expected ${JSON.stringify(expected)}`;
};
