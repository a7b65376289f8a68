import type { Site } from "../../services/sites.ts";
import { endWebhookOverlap, readWebhookSecret, rotateWebhookSecret } from "../../services/webhook-secrets.ts";
import { findWebhook, listWebhookUrls, type Webhook } from "../../services/webhooks.ts";
import { docsPath, withParameter } from "../console-path.ts";
import type { PageContext } from "../env.ts";
import { ticketEnd, ticketFor } from "../forms/messages.ts";
import type { ShownSecretOwner } from "../secrets/rotate-secret.tsx";
import { useView } from "../view.ts";

/** The URL as `fetch` sends it. Look-alike letters and signs that turn the reading direction are encoded, so that they deceive nobody. */
export function shownUrl({ url }: Pick<Webhook, "url">): string {
  const parsed = URL.parse(url);
  // Viewers get only the origin. An added `/` would look like the whole path.
  return parsed === null || parsed.origin === url ? url : parsed.href;
}

/** The two parts of {@link shownUrl}: the host, and the rest. */
export const hostOf = (webhook: Pick<Webhook, "url">): string => shownUrl(webhook).split("/")[2] ?? "";
export const pathOf = (webhook: Pick<Webhook, "url">): string => shownUrl(webhook).replace(/^[^/]*\/\/[^/]*/, "");

type Named = Pick<Webhook, "id" | "url">;

/** The host, and the beginning of the path. A query may hold a token. */
const withPath = (webhook: Named) =>
  hostOf(webhook) +
  pathOf(webhook)
    .replace(/\?.*/s, "")
    .replace(/^(.{40}).+/s, "$1…");

/**
 * What tells a webhook from `all` of its site, the oldest first: its host; beside others of that host its path too (`longName`); and a
 * number where this is not enough, as for viewers, who see no paths.
 */
export function nameAmong(all: Named[], webhook: Named, longName = withPath): string {
  if (all.filter((each) => hostOf(each) === hostOf(webhook)).length < 2) return hostOf(webhook);
  const same = all.filter((each) => longName(each) === longName(webhook));
  const number = same.findIndex(({ id }) => id === webhook.id) + 1;
  return same.length < 2 ? longName(webhook) : `${longName(webhook)} (${number})`;
}

/** A link above the body of a page, to the webhook that the page is about. */
export const UpLink = ({ path, name }: { path: string; name: string }) => (
  <p class="lead">
    <a href={path}>{name}</a>
  </p>
);

/** The button that cures a failure of the URL, for readers who may change it. */
export const ChangeUrl = ({ path }: { path: string }) =>
  useView().may(`${path}/settings`, "GET") && (
    <a class="button" href={`${path}/settings`}>
      {useView().t("Change URL…")}
    </a>
  );

/** The webhook that the path names, for the pages of its secret. @throws ServiceError `not_found` */
export async function webhookOf(c: PageContext, site: Site) {
  const { ctx, view, t } = c.var;
  const webhookOfPath = { site, webhookId: c.req.param("webhook_id") ?? "" };
  const [webhook, all] = await Promise.all([findWebhook(ctx, webhookOfPath), listWebhookUrls(ctx, { site })]);
  const { version, previousExpiresAt } = webhook;
  const owner: Omit<ShownSecretOwner, "page"> = {
    site: { ...site, tab: "webhooks" },
    path: `/console/sites/${site.id}/webhooks/${webhook.id}`,
    version,
    previousExpiresAt,
    isActive: true,
    facts: [["URL", shownUrl(webhook), "webhook-url"]],
    words: {
      made: t("The webhook was added"),
      use: (
        <>
          {t("It signs deliveries. Whoever has it can forge them: keep it out of code, chats and tickets.")}{" "}
          <a href={docsPath(view, "receiving#verify")}>{t("How a receiver verifies")}</a>
        </>
      ),
      stopped: t("A receiver that knows only a stopped secret refuses deliveries until it gets the new one."),
    },
    read: () => readWebhookSecret(ctx, { ...webhookOfPath, version }),
    rotate: (input) => rotateWebhookSecret(ctx, { ...webhookOfPath, ...input }),
    endOverlap: (expectedVersion) => endWebhookOverlap(ctx, { ...webhookOfPath, expectedVersion }),
  };
  // The browser's history keeps titles, and a path may hold a token.
  const names = { name: nameAmong(all, webhook), title: nameAmong(all, webhook, hostOf) };
  return { ...owner, ...names, webhookOfPath, webhook };
}

/** Results of a form in an address: the event sent `again`, how many were `sent`, since when an `enabled` webhook got nothing, a drill. */
export const RESULTS = ["done", "again", "sent", "enabled", "drilled"] as const;

/** How long the page shows what comes of a form, and offers to go on. */
const SHOWN_SECONDS = 7_200;

/** An address, by default the webhook's `path`, that shows a result to this console session only. The result's text has no dot. */
export async function withResult(
  c: PageContext,
  path: string,
  [name, text]: [(typeof RESULTS)[number], string],
  back = path,
) {
  const { session, now } = c.var.view;
  if (session === undefined) return back;
  const ticket = await ticketFor(session, [name, path, text], now, SHOWN_SECONDS);
  return withParameter(back, name, `${text}.${ticket}`);
}

/** The result that an address of {@link withResult} holds; undefined when it is not for this session, or over. */
export async function resultIn(
  c: PageContext,
  path: string,
  name: (typeof RESULTS)[number],
): Promise<string | undefined> {
  const { session, now } = c.var.view;
  const [, text = "", ticket = ""] = /^([^.]+)\.(.*)$/.exec(c.req.query(name) ?? "") ?? [];
  const end = session && (await ticketEnd(session, [name, path, text], ticket, now));
  return end === undefined ? undefined : text;
}

export const deliveryId = (seq: number) => `event-${seq}`;
