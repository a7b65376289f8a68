import { call } from "../../http/call.ts";
import type { ConsoleCall } from "../env.ts";
import { secretPages } from "../secrets/secret-pages.ts";
import { deliveryPage } from "./delivery-page.tsx";
import { postSendAgain, sendAgainPage } from "./send-again-page.tsx";
import { deletePage, disablePage, webhookButton } from "./webhook-actions.tsx";
import { webhookPage } from "./webhook-page.tsx";
import { postWebhook, settingsPage, webhookSecretOf } from "./webhook-settings.tsx";
import { postWebhooks, webhooksPage } from "./webhooks-page.tsx";

const SEE = { role: "viewer", scope: "site" } as const;
const CHANGE = { role: "operator", scope: "site" } as const;
const WEBHOOK = "/sites/:site_id/webhooks/:webhook_id";

export const WEBHOOKS_CALLS: ConsoleCall[] = [
  call({ ...SEE, method: "get", path: "/sites/:site_id/webhooks", audit: [] }, webhooksPage),
  call(
    { ...CHANGE, method: "post", path: "/sites/:site_id/webhooks", audit: ["webhook.added", "site.events_on"] },
    postWebhooks,
  ),
  call({ ...SEE, method: "get", path: WEBHOOK, audit: [] }, webhookPage),
  call({ ...CHANGE, method: "post", path: WEBHOOK, audit: ["webhook.changed"] }, postWebhook),
  call({ ...CHANGE, method: "get", path: `${WEBHOOK}/settings`, audit: [] }, settingsPage),
  call({ ...SEE, method: "get", path: `${WEBHOOK}/deliveries/:seq`, audit: [] }, deliveryPage),
  ...secretPages(WEBHOOK, { rotated: "webhook.rotated", ended: "webhook.overlap_ended" }, webhookSecretOf),
  call({ ...CHANGE, method: "post", path: `${WEBHOOK}/ping`, audit: ["webhook.pinged"] }, webhookButton("ping")),
  call(
    { ...CHANGE, method: "post", path: `${WEBHOOK}/redeliver`, audit: ["webhook.redelivered"] },
    webhookButton("redeliver"),
  ),
  call({ ...CHANGE, method: "get", path: `${WEBHOOK}/send-again`, audit: [] }, sendAgainPage),
  call({ ...CHANGE, method: "post", path: `${WEBHOOK}/send-again`, audit: ["webhook.redelivered"] }, postSendAgain),
  call({ ...CHANGE, method: "post", path: `${WEBHOOK}/enable`, audit: ["webhook.enabled"] }, webhookButton("enable")),
  call({ ...CHANGE, method: "get", path: `${WEBHOOK}/disable`, audit: [] }, disablePage),
  call(
    { ...CHANGE, method: "post", path: `${WEBHOOK}/disable`, audit: ["webhook.disabled"] },
    webhookButton("disable"),
  ),
  call({ ...CHANGE, method: "get", path: `${WEBHOOK}/delete`, audit: [] }, deletePage),
  call({ ...CHANGE, method: "post", path: `${WEBHOOK}/delete`, audit: ["webhook.deleted"] }, webhookButton("delete")),
];
