import { isRefusedFor } from "../../../core/errors.ts";
import { pingWebhook, redeliver } from "../../services/events.ts";
import type { Site } from "../../services/sites.ts";
import { changeWebhook, deleteWebhook, findWebhook, type WebhookOf } from "../../services/webhooks.ts";
import { consolePath } from "../console-path.ts";
import type { PageContext } from "../env.ts";
import { buttonAction } from "../forms/form-action.ts";
import { doneLocation } from "../forms/messages.ts";
import { readForm } from "../forms/read-form.ts";
import { askPage } from "../parts/ask.tsx";
import type { View } from "../view.ts";
import { againLocation, deliveryId, OFFERED_SECONDS, withResult } from "./result-address.ts";
import { webhookOf } from "./webhook-of.tsx";

/** The webhook or event that a button belongs to. */
interface PressedButton {
  webhookOfPath: WebhookOf;
  /** The path of the webhook's page, and the page to return to. */
  path: string;
  back: string;
  seq: number;
}

/** What each button does. It gives the address of the page that shows the result. */
const WORK = {
  ping: async (c, { webhookOfPath, path }) =>
    againLocation(c, path, path, (await pingWebhook(c.var.ctx, webhookOfPath)).seq),
  redeliver: async (c, { webhookOfPath, path, back, seq }) => {
    await redeliver(c.var.ctx, { ...webhookOfPath, seq });
    return againLocation(c, path, back, seq);
  },
  enable: async (c, { webhookOfPath, path, back }) => {
    const { disabledAt, failingSince } = await findWebhook(c.var.ctx, webhookOfPath);
    await changeWebhook(c.var.ctx, { ...webhookOfPath, change: { status: "enabled" } });
    if (disabledAt === null) return doneLocation(c, back, "saved");
    // The webhook also missed the events that failed before the Worker disabled it.
    const since = Math.min(disabledAt, failingSince ?? disabledAt);
    return withResult(c, path, ["enabled", String(since)], { seconds: OFFERED_SECONDS });
  },
  disable: async (c, { webhookOfPath, back }) => {
    await changeWebhook(c.var.ctx, { ...webhookOfPath, change: { status: "disabled" } });
    return doneLocation(c, back, "saved");
  },
  delete: async (c, { webhookOfPath, back }) => {
    await deleteWebhook(c.var.ctx, webhookOfPath);
    return doneLocation(c, back, "deleted");
  },
} satisfies Record<string, (c: PageContext, pressed: PressedButton) => Promise<string>>;

const parentOf = (path: string) => path.replace(/\/[^/]+$/, "");

/** Answers a button of a webhook. */
export const webhookButton = (name: keyof typeof WORK) => async (c: PageContext, site: Site) => {
  const form = await readForm(c);
  const path = parentOf(c.req.path);
  const back = consolePath(form.back, name === "delete" ? parentOf(path) : path);
  const seq = Number(form.seq ?? 0);
  const id = seq ? deliveryId(seq) : undefined;
  const isAsked = name === "delete" || name === "disable";
  const pressed = { webhookOfPath: { site, webhookId: c.req.param("webhook_id") ?? "" }, path, back, seq };
  return buttonAction(c, form, {
    draft: { path: isAsked ? c.req.path : back, id },
    list: back,
    // The webhook is looked up inside `work`. Otherwise, the second submit of a deletion would get a 404 and not the first one's result.
    work: () =>
      WORK[name](c, pressed).catch((error) => {
        // The webhook's page says that the webhook is disabled, and why.
        if (isRefusedFor(error, "webhook_disabled")) return path;
        if (isRefusedFor(error, "event_unknown", "event_erased")) return doneLocation(c, back, "event_gone", id);
        if (isRefusedFor(error, "webhook_ending")) return doneLocation(c, back, "webhook_ending", id);
        throw error;
      }),
  });
};

export const disabledMeans = ({ t }: View): string =>
  t(
    "While a webhook is disabled, it gets no events, and does not get them later by itself. What was pending fails, and can be redelivered once it is enabled.",
  );

/** Asks before a webhook is disabled or deleted. */
export const webhookQuestion = (name: "disable" | "delete") => async (c: PageContext, siteOfPath: Site) => {
  const { view } = c.var;
  const { t } = view;
  const { site, path, about, webhook } = await webhookOf(c, siteOfPath);
  if (name === "disable" && webhook.status === "disabled") return c.redirect(path, 303);
  const [title, text, button] =
    name === "disable"
      ? [t("Disable this webhook?"), disabledMeans(view), t("Disable")]
      : [t("Delete this webhook?"), t("Its secret and its deliveries go too. It cannot be undone."), t("Delete")];
  return askPage(c, { site, title, text, facts: about, button, back: path });
};
