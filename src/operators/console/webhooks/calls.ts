import type { ConsoleCall } from "../env.ts";
import { form, page } from "../page-call.ts";
import { secretPages } from "../secrets/secret-pages.tsx";
import { deliveryPage } from "./deliveries.tsx";
import { postSendAgain, sendAgainPage } from "./send-again-page.tsx";
import { webhookButton, webhookPage, webhookQuestion } from "./webhook-page.tsx";
import { postWebhook, postWebhooks, settingsPage, webhookSecretOf, webhooksPage } from "./webhooks-page.tsx";

const WEBHOOK = "/sites/:site_id/webhooks/:webhook_id";

export const WEBHOOKS_CALLS: ConsoleCall[] = [
  page("viewer", "/sites/:site_id/webhooks", webhooksPage),
  form("operator", "/sites/:site_id/webhooks", ["webhook.added", "site.events_on"], postWebhooks),
  page("viewer", WEBHOOK, webhookPage),
  form("operator", WEBHOOK, ["webhook.changed"], postWebhook),
  page("operator", `${WEBHOOK}/settings`, settingsPage),
  page("viewer", `${WEBHOOK}/deliveries/:seq`, deliveryPage),
  ...secretPages(WEBHOOK, { rotated: "webhook.rotated", ended: "webhook.overlap_ended" }, webhookSecretOf),
  form("operator", `${WEBHOOK}/ping`, ["webhook.pinged"], webhookButton("ping")),
  form("operator", `${WEBHOOK}/redeliver`, ["webhook.redelivered"], webhookButton("redeliver")),
  page("operator", `${WEBHOOK}/send-again`, sendAgainPage),
  form("operator", `${WEBHOOK}/send-again`, ["webhook.redelivered"], postSendAgain),
  form("operator", `${WEBHOOK}/enable`, ["webhook.enabled"], webhookButton("enable")),
  page("operator", `${WEBHOOK}/disable`, webhookQuestion("disable")),
  form("operator", `${WEBHOOK}/disable`, ["webhook.disabled"], webhookButton("disable")),
  page("operator", `${WEBHOOK}/delete`, webhookQuestion("delete")),
  form("operator", `${WEBHOOK}/delete`, ["webhook.deleted"], webhookButton("delete")),
];
