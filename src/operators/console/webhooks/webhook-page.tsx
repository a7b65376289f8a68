import { isRefusedFor } from "../../../core/errors.ts";
import { recentDeliveries } from "../../services/deliveries.ts";
import { pingWebhook, redeliver } from "../../services/events.ts";
import type { Site } from "../../services/sites.ts";
import { changeWebhook, deleteWebhook, findWebhook, type Webhook } from "../../services/webhooks.ts";
import { consolePath } from "../console-path.ts";
import type { PageContext } from "../env.ts";
import { buttonAction } from "../forms/form-action.ts";
import { doneLocation } from "../forms/messages.ts";
import { showPage } from "../layout.tsx";
import { askPage } from "../parts/ask.tsx";
import { Action, AskLink, FieldsForm } from "../parts/form.tsx";
import { Facts, LookAgain, NoticeBox, RowMenu, Time } from "../parts/parts.tsx";
import { OverlapCard } from "../secrets/rotate-secret.tsx";
import type { View } from "../view.ts";
import { deliveryList, seqIn } from "./deliveries.tsx";
import { drilledLocation, drillNotice } from "./drill.tsx";
import { sentNotice } from "./send-again-page.tsx";
import { Health, isOfUrl, troubleOf } from "./webhook-health.tsx";
import { ChangeUrl, deliveryId, pathOf, resultIn, webhookOf, withResult } from "./webhook-of.tsx";

/** A webhook's state, what to do about it (the cure first), and its deliveries. `?event=` leads to the page of that event's delivery. */
export async function webhookPage(c: PageContext, siteOfPath: Site): Promise<Response> {
  const { ctx, view, t } = c.var;
  const owner = await webhookOf(c, siteOfPath);
  const { webhook, name, title, site, path } = owner;
  const event = seqIn(c.req.query("event"));
  if (event !== undefined) return c.redirect(`${path}/deliveries/${event}`, 303);
  const [[recent], deliveries] = await Promise.all([
    recentDeliveries(ctx, { site: siteOfPath, webhooks: [webhook] }),
    deliveryList(c, owner),
  ]);
  const trouble = recent && troubleOf(webhook, recent);
  const changesUrl = trouble !== undefined && isOfUrl(trouble);
  const isEnabled = webhook.status === "enabled";
  const body = (
    <>
      <p class="lead">
        {!view.may(`${path}/settings`, "GET") && t("Operators and owners see the rest of its URL.")}
        {!name.endsWith(pathOf(webhook)) && <code>{pathOf(webhook)}</code>}
      </p>
      {await sentNotice(c, path)}
      {await drillNotice(c, path)}
      {await stateNotice(c, path, webhook)}
      <section class="card">
        {recent && <Health webhook={webhook} recent={recent} />}
        {view.may(`${path}/ping`) && (
          <div class="buttons actions" id="rotate">
            {changesUrl && <ChangeUrl path={path} />}
            {isEnabled ? (
              <>
                <a class={changesUrl ? "button plain" : "button"} href={`${path}/send-again`}>
                  {t("Send again…")}
                </a>
                <Action action={`${path}/ping`} label={t("Send a ping")} />
                <Action action={`${path}/drill`} label={t("Drill the receiver")} />
              </>
            ) : (
              <FieldsForm action={`${path}/enable`} fields={{}} button={t("Enable")} plain={changesUrl} />
            )}
            <RowMenu label={t("More actions")}>
              <a href={`${path}/settings`}>{t("Change URL and events…")}</a>
              <a href={`${path}/settings#rotate`}>{t("Rotate the secret…")}</a>
              {isEnabled && <AskLink href={`${path}/disable`}>{t("Disable")}…</AskLink>}
              <AskLink href={`${path}/delete`}>{t("Delete")}…</AskLink>
            </RowMenu>
            {isEnabled && (
              <p class="hint">
                {t("A ping goes before everything that is pending, also to a receiver that hangs, and is tried once.")}{" "}
                {t("A drill posts six good and bad pings, and shows what its receiver does wrong. It may take 90 s.")}
              </p>
            )}
          </div>
        )}
      </section>
      <OverlapCard owner={owner} />
      {deliveries}
      <section class="card">
        <h2>{t("About this webhook")}</h2>
        <Facts
          rows={[
            ...owner.facts,
            ["ID", <code>{webhook.id}</code>],
            [t("Events"), webhook.events.join(", ")],
            [t("Created"), <Time at={webhook.createdAt} />],
          ]}
        />
      </section>
    </>
  );
  return showPage(c, { title, heading: name, site, body });
}

/** The notice of a disabled webhook; or, after it was enabled, the offer to send the events that it missed meanwhile. */
async function stateNotice(c: PageContext, path: string, webhook: Webhook) {
  const { view, t } = c.var;
  if (webhook.status === "disabled")
    return (
      <NoticeBox kind={webhook.disabledReason ? "bad" : "note"} title={disabledText(view, webhook)}>
        <p>{disabledMeans(view)}</p>
        {webhook.pending > 0 && (
          <LookAgain>{t("What was pending then is still being ended. It can be enabled in a few minutes.")}</LookAgain>
        )}
      </NoticeBox>
    );
  const since = await resultIn(c, path, "enabled");
  if (since === undefined) return null;
  const query = new URLSearchParams({ time: "own", since, failed: "on", missed: "on" });
  return (
    <NoticeBox kind="good" title={t("The webhook is enabled. It got nothing since {0}.", view.time(Number(since)))}>
      <p>
        <a href={`${path}/send-again?${query}`}>{t("Send what it missed…")}</a>
      </p>
    </NoticeBox>
  );
}

function disabledText({ t, time }: View, { disabledReason, disabledAt }: Webhook): string {
  const when = disabledAt === null ? "" : ` ${t("On {0}.", time(disabledAt))}`;
  if (disabledReason === "gone") return t("Disabled by the Worker: the receiver answered 410.") + when;
  if (disabledReason === "failing") return t("Disabled by the Worker: nothing but failures for 5 days.") + when;
  return t("Disabled by an operator.") + when;
}

/** Answers a button of a webhook. */
export const webhookButton =
  (name: "ping" | "drill" | "redeliver" | "enable" | "disable" | "delete") => async (c: PageContext, site: Site) => {
    const { ctx, form } = c.var;
    const list = `/console/sites/${site.id}/webhooks`;
    const webhookOfPath = { site, webhookId: c.req.param("webhook_id") ?? "" };
    const path = `${list}/${webhookOfPath.webhookId}`;
    const back = consolePath(form.back, name === "delete" ? list : path);
    const seq = Number(form.seq ?? 0);
    const id = seq ? deliveryId(seq) : undefined;
    const isAsked = name === "delete" || name === "disable";
    const change = (status: Webhook["status"]) => changeWebhook(ctx, { ...webhookOfPath, change: { status } });
    const sentLocation = async ({ seq }: { seq: number }) =>
      `${await withResult(c, path, ["again", String(seq)], back)}#${deliveryId(seq)}`;
    /** Each does its work, and gives the address of the page that shows the result. */
    const work = {
      ping: () => pingWebhook(ctx, webhookOfPath).then(sentLocation),
      drill: () => drilledLocation(c, path, webhookOfPath),
      redeliver: () => redeliver(ctx, { ...webhookOfPath, seq }).then(() => sentLocation({ seq })),
      enable: async () => {
        const { disabledAt, failingSince } = await findWebhook(ctx, webhookOfPath);
        await change("enabled");
        if (disabledAt === null) return doneLocation(c, back, "saved");
        // The webhook also missed the events that failed before the Worker disabled it.
        return withResult(c, path, ["enabled", String(Math.min(disabledAt, failingSince ?? disabledAt))]);
      },
      disable: () => change("disabled").then(() => doneLocation(c, back, "saved")),
      delete: () => deleteWebhook(ctx, webhookOfPath).then(() => doneLocation(c, back, "deleted")),
    };
    return buttonAction(c, {
      draft: { path: isAsked ? c.req.path : back, id },
      list: back,
      // The webhook is looked up inside `work`. Otherwise, the second submit of a deletion would get a 404 and not the first one's result.
      work: () =>
        work[name]().catch((error) => {
          // The webhook's page says that the webhook is disabled, and why.
          if (isRefusedFor(error, "webhook_disabled")) return path;
          if (isRefusedFor(error, "event_unknown", "event_erased")) return doneLocation(c, back, "event_gone", id);
          if (isRefusedFor(error, "webhook_drill_limit")) return doneLocation(c, back, "drilled_before");
          if (isRefusedFor(error, "fields_invalid")) return doneLocation(c, back, "not_postable");
          if (isRefusedFor(error, "webhook_ending")) return doneLocation(c, back, "webhook_ending", id);
          throw error;
        }),
    });
  };

const disabledMeans = ({ t }: View): string =>
  t(
    "While a webhook is disabled, it gets no events, and does not get them later by itself. What was pending fails, and can be sent again once it is enabled.",
  );

/** Asks before a webhook is disabled or deleted. */
export const webhookQuestion = (name: "disable" | "delete") => async (c: PageContext, siteOfPath: Site) => {
  const { view, t } = c.var;
  const { site, path, facts, webhook } = await webhookOf(c, siteOfPath);
  if (name === "disable" && webhook.status === "disabled") return c.redirect(path, 303);
  const [title, text, button] =
    name === "disable"
      ? [t("Disable this webhook?"), disabledMeans(view), t("Disable")]
      : [t("Delete this webhook?"), t("Its secret and its deliveries go too. It cannot be undone."), t("Delete")];
  return askPage(c, { site, title, text, facts, button, back: path });
};
