import { call } from "../../operator/call.ts";
import type { ConsoleCall } from "../env.ts";
import { secretPages } from "../secrets/secret-pages.tsx";
import { deletePage, disablePage, webhookButton } from "./webhook-actions.tsx";
import { postSendAgain, postWebhook, sendAgainPage, webhookPage, webhookSecretOf } from "./webhook-page.tsx";
import { postWebhooks, webhooksPage } from "./webhooks-page.tsx";

const SITE = { role: "owner", scope: "site" } as const;
const WEBHOOK = "/sites/:site_id/webhooks/:webhook_id";

export const WEBHOOKS_CALLS: ConsoleCall[] = [
  call({ ...SITE, method: "get", path: "/sites/:site_id/webhooks", audit: [] }, webhooksPage),
  call(
    { ...SITE, method: "post", path: "/sites/:site_id/webhooks", audit: ["webhook.added", "site.events_on"] },
    postWebhooks,
  ),
  call({ ...SITE, method: "get", path: WEBHOOK, audit: [] }, webhookPage),
  call({ ...SITE, method: "post", path: WEBHOOK, audit: ["webhook.changed"] }, postWebhook),
  ...secretPages(WEBHOOK, { rotated: "webhook.rotated", ended: "webhook.overlap_ended" }, webhookSecretOf),
  call({ ...SITE, method: "post", path: `${WEBHOOK}/ping`, audit: [] }, webhookButton("ping")),
  call({ ...SITE, method: "post", path: `${WEBHOOK}/redeliver`, audit: [] }, webhookButton("redeliver")),
  call({ ...SITE, method: "get", path: `${WEBHOOK}/send-again`, audit: [] }, sendAgainPage),
  call({ ...SITE, method: "post", path: `${WEBHOOK}/send-again`, audit: ["webhook.redelivered"] }, postSendAgain),
  call({ ...SITE, method: "post", path: `${WEBHOOK}/enable`, audit: ["webhook.enabled"] }, webhookButton("enable")),
  call({ ...SITE, method: "get", path: `${WEBHOOK}/disable`, audit: [] }, disablePage),
  call({ ...SITE, method: "post", path: `${WEBHOOK}/disable`, audit: ["webhook.disabled"] }, webhookButton("disable")),
  call({ ...SITE, method: "get", path: `${WEBHOOK}/delete`, audit: [] }, deletePage),
  call({ ...SITE, method: "post", path: `${WEBHOOK}/delete`, audit: ["webhook.deleted"] }, webhookButton("delete")),
];
