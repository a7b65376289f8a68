import { recentDeliveries } from "../../services/deliveries.ts";
import type { Site } from "../../services/sites.ts";
import type { Webhook } from "../../services/webhooks.ts";
import type { PageContext } from "../env.ts";
import { showPage } from "../layout.tsx";
import { Action, AskLink } from "../parts/form.tsx";
import { NoticeBox, Time } from "../parts/parts.tsx";
import { RowMenu } from "../parts/row-menu.tsx";
import { OverlapCard } from "../secrets/overlap-card.tsx";
import type { View } from "../view.ts";
import { DeliveryList, listedDeliveries } from "./delivery-list.tsx";
import { enabledNotice } from "./enabled-again.tsx";
import { Health } from "./health.tsx";
import { sentNotice } from "./sent-notice.tsx";
import { disabledMeans, hostOf, pathOf, webhookOf } from "./webhook-of.tsx";

/** A webhook's state, what to do about it, and its deliveries. `?event=` names an event, and leads to the page of its delivery. */
export async function webhookPage(c: PageContext, siteOfPath: Site): Promise<Response> {
  const { ctx, view } = c.var;
  const { t } = view;
  const { webhook, webhookOfPath, ...owner } = await webhookOf(c, siteOfPath);
  const { site, path } = owner;
  const event = c.req.query("event");
  if (event !== undefined && /^\d{1,15}$/.test(event)) return c.redirect(`${path}/deliveries/${event}`, 303);
  const [[recent], listed] = await Promise.all([
    recentDeliveries(ctx, { site: webhookOfPath.site, webhooks: [webhook] }),
    listedDeliveries(c, webhookOfPath, path),
  ]);
  const body = (
    <>
      <p class="lead">
        {view.may(`${path}/settings`, "GET") ? (
          <code>{pathOf(webhook)}</code>
        ) : (
          t("Operators and owners see the rest of its URL.")
        )}
      </p>
      {await sentNotice(c, path)}
      {await enabledNotice(c, path, webhook)}
      {webhook.status === "disabled" && <DisabledNotice view={view} webhook={webhook} />}
      <section class="card">
        {recent && <Health view={view} webhook={webhook} recent={recent} />}
        <Actions view={view} webhook={webhook} path={path} />
      </section>
      <OverlapCard view={view} owner={owner} use={undefined} />
      <DeliveryList c={c} siteId={site.id} path={path} webhook={webhook} listed={listed} />
      <section class="card">
        <h2>{t("About this webhook")}</h2>
        <dl class="facts">
          {owner.facts}
          <dt>ID</dt>
          <dd>
            <code>{webhook.id}</code>
          </dd>
          <dt>{t("Events")}</dt>
          <dd>{webhook.events.join(", ")}</dd>
          <dt>{t("Created")}</dt>
          <dd>
            <Time at={webhook.createdAt} />
          </dd>
        </dl>
      </section>
    </>
  );
  return showPage(c, { title: hostOf(webhook), site, body });
}

function DisabledNotice({ view, webhook }: { view: View; webhook: Webhook }) {
  const { t } = view;
  return (
    <NoticeBox kind={webhook.disabledReason ? "bad" : "note"} title={disabledText(view, webhook)}>
      <p>{disabledMeans(view)}</p>
      {webhook.pending > 0 && (
        <p>{t("What was pending then is still being ended. It can be enabled in a few minutes.")}</p>
      )}
    </NoticeBox>
  );
}

function disabledText({ t, time }: View, { disabledReason, disabledAt }: Webhook): string {
  const when = disabledAt === null ? "" : ` ${t("On {0}.", time(disabledAt))}`;
  if (disabledReason === "gone") return t("Disabled by the Worker: the receiver answered 410.") + when;
  return (
    (disabledReason === "failing"
      ? t("Disabled by the Worker: nothing but failures for 5 days.")
      : t("Disabled by an operator.")) + when
  );
}

/** The frequent actions are visible. The others are behind one button. */
function Actions({ view, webhook, path }: { view: View; webhook: Webhook; path: string }) {
  const { t } = view;
  const isEnabled = webhook.status === "enabled";
  if (!view.may(`${path}/ping`)) return null;
  return (
    <div class="buttons actions" id="rotate">
      {isEnabled ? (
        <>
          <a class="button" href={`${path}/send-again`}>
            {t("Send again…")}
          </a>
          <Action action={`${path}/ping`} label={t("Send a ping")} />
        </>
      ) : (
        <Action action={`${path}/enable`} label={t("Enable")} />
      )}
      <RowMenu label={t("More actions")}>
        <a href={`${path}/settings`}>{t("Change URL and events…")}</a>
        <a href={`${path}/settings#rotate`}>{t("Rotate the secret…")}</a>
        {isEnabled && <AskLink href={`${path}/disable`}>{`${t("Disable")}…`}</AskLink>}
        <AskLink href={`${path}/delete`}>{`${t("Delete")}…`}</AskLink>
      </RowMenu>
      {isEnabled && (
        <p class="hint">
          {t("A ping goes before everything that is pending, also to a receiver that hangs, and is tried once.")}
        </p>
      )}
    </div>
  );
}
