import type { Site } from "../../services/sites.ts";
import { endWebhookOverlap, readWebhookSecret, rotateWebhookSecret } from "../../services/webhook-secrets.ts";
import { findWebhook, type Webhook } from "../../services/webhooks.ts";
import { docsPath } from "../docs-path.ts";
import type { PageContext } from "../env.ts";
import { Copyable, type FactRows } from "../parts/parts.tsx";
import type { ShownSecretOwner } from "../secrets/secret-owner.ts";

/** The URL as `fetch` sends it. Look-alike letters and signs that turn the reading direction are encoded, so that they deceive nobody. */
export function shownUrl({ url }: Pick<Webhook, "url">): string {
  const parsed = URL.parse(url);
  // Viewers get only the origin. An added `/` would look like the whole path.
  return parsed === null || parsed.origin === url ? url : parsed.href;
}

/** The two parts of {@link shownUrl}: the host, and the rest. */
export const hostOf = (webhook: Pick<Webhook, "url">): string => shownUrl(webhook).split("/")[2] ?? "";
export const pathOf = (webhook: Pick<Webhook, "url">): string => shownUrl(webhook).replace(/^[^/]*\/\/[^/]*/, "");

/** A link above the body of a page, to the webhook that the page is about. */
export const UpLink = ({ path, webhook }: { path: string; webhook: Webhook }) => (
  <p class="lead">
    <a href={path}>{hostOf(webhook)}</a>
  </p>
);

/** The webhook that the path names, for the pages of its secret. @throws ServiceError `not_found` */
export async function webhookOf(c: PageContext, site: Site) {
  const { ctx, view } = c.var;
  const { t } = view;
  const webhookOfPath = { site, webhookId: c.req.param("webhook_id") ?? "" };
  const webhook = await findWebhook(ctx, webhookOfPath);
  const { version, previousExpiresAt } = webhook;
  const about: FactRows = [["URL", shownUrl(webhook), "webhook-url"]];
  const owner: Omit<ShownSecretOwner, "page"> = {
    site: { ...site, tab: "webhooks" },
    path: `/console/sites/${site.id}/webhooks/${webhook.id}`,
    version,
    previousExpiresAt,
    isActive: true,
    facts: <Copyable id="webhook-url" label="URL" text={shownUrl(webhook)} />,
    words: {
      made: t("The webhook was added"),
      use: (
        <>
          {t(
            "The receiver verifies deliveries with it. Whoever has it can forge them: keep it out of code, chats and tickets.",
          )}{" "}
          <a href={docsPath(view, "receiving#verify")}>{t("How a receiver verifies")}</a>
        </>
      ),
      stopped: t("A receiver that knows only a stopped secret refuses deliveries until it gets the new one."),
    },
    read: () => readWebhookSecret(ctx, { ...webhookOfPath, version }),
    rotate: (input) => rotateWebhookSecret(ctx, { ...webhookOfPath, ...input }),
    endOverlap: (expectedVersion) => endWebhookOverlap(ctx, { ...webhookOfPath, expectedVersion }),
  };
  return { ...owner, about, webhookOfPath, webhook };
}
