import { call } from "../../http/call.ts";
import type { ConsoleCall } from "../env.ts";
import { secretPages } from "../secrets/secret-pages.ts";
import { deliveryPage } from "./delivery-page.tsx";
import { postSendAgain, sendAgainPage } from "./send-again-page.tsx";
import { deletePage, disablePage, webhookButton } from "./webhook-actions.tsx";
import { webhookPage } from "./webhook-page.tsx";
import { postWebhook, settingsPage, webhookSecretOf } from "./webhook-settings.tsx";
import { postWebhooks, webhooksPage } from "./webhooks-page.tsx";

const VIEWER_OF_SITE = { role: "viewer", scope: "site" } as const;
const OPERATOR_OF_SITE = { role: "operator", scope: "site" } as const;
const WEBHOOK = "/sites/:site_id/webhooks/:webhook_id";

export const WEBHOOKS_CALLS: ConsoleCall[] = [
  call({ ...VIEWER_OF_SITE, method: "get", path: "/sites/:site_id/webhooks", audit: [] }, webhooksPage),
  call(
    {
      ...OPERATOR_OF_SITE,
      method: "post",
      path: "/sites/:site_id/webhooks",
      audit: ["webhook.added", "site.events_on"],
    },
    postWebhooks,
  ),
  call({ ...VIEWER_OF_SITE, method: "get", path: WEBHOOK, audit: [] }, webhookPage),
  call({ ...OPERATOR_OF_SITE, method: "post", path: WEBHOOK, audit: ["webhook.changed"] }, postWebhook),
  call({ ...OPERATOR_OF_SITE, method: "get", path: `${WEBHOOK}/settings`, audit: [] }, settingsPage),
  call({ ...VIEWER_OF_SITE, method: "get", path: `${WEBHOOK}/deliveries/:seq`, audit: [] }, deliveryPage),
  ...secretPages(WEBHOOK, { rotated: "webhook.rotated", ended: "webhook.overlap_ended" }, webhookSecretOf),
  call(
    { ...OPERATOR_OF_SITE, method: "post", path: `${WEBHOOK}/ping`, audit: ["webhook.pinged"] },
    webhookButton("ping"),
  ),
  call(
    { ...OPERATOR_OF_SITE, method: "post", path: `${WEBHOOK}/redeliver`, audit: ["webhook.redelivered"] },
    webhookButton("redeliver"),
  ),
  call({ ...OPERATOR_OF_SITE, method: "get", path: `${WEBHOOK}/send-again`, audit: [] }, sendAgainPage),
  call(
    { ...OPERATOR_OF_SITE, method: "post", path: `${WEBHOOK}/send-again`, audit: ["webhook.redelivered"] },
    postSendAgain,
  ),
  call(
    { ...OPERATOR_OF_SITE, method: "post", path: `${WEBHOOK}/enable`, audit: ["webhook.enabled"] },
    webhookButton("enable"),
  ),
  call({ ...OPERATOR_OF_SITE, method: "get", path: `${WEBHOOK}/disable`, audit: [] }, disablePage),
  call(
    { ...OPERATOR_OF_SITE, method: "post", path: `${WEBHOOK}/disable`, audit: ["webhook.disabled"] },
    webhookButton("disable"),
  ),
  call({ ...OPERATOR_OF_SITE, method: "get", path: `${WEBHOOK}/delete`, audit: [] }, deletePage),
  call(
    { ...OPERATOR_OF_SITE, method: "post", path: `${WEBHOOK}/delete`, audit: ["webhook.deleted"] },
    webhookButton("delete"),
  ),
];
