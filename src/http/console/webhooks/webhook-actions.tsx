import { isRefusedFor } from "../../../errors.ts";
import { pingWebhook, redeliver } from "../../../services/events.ts";
import type { ServiceContext } from "../../../services/service-context.ts";
import type { Site } from "../../../services/sites.ts";
import { changeWebhook, deleteWebhook, type WebhookOf } from "../../../services/webhooks.ts";
import { consolePath } from "../console-path.ts";
import type { PageContext } from "../env.ts";
import { buttonAction } from "../forms/form-action.ts";
import { doneLocation, type FormResult } from "../forms/messages.ts";
import { readForm } from "../forms/read-form.ts";
import { askPage } from "../parts/ask-page.tsx";
import { redeliverId } from "./delivery-table.tsx";
import { disabledMeans, webhookOf } from "./webhook-of.tsx";

/** The actions of a webhook's buttons. */
type Action = "ping" | "redeliver" | "enable" | "disable" | "delete";

/** @param seq of the event to redeliver */
async function act(ctx: ServiceContext, action: Action, which: WebhookOf, seq: number): Promise<FormResult> {
  if (action === "delete") {
    await deleteWebhook(ctx, which);
    return "deleted";
  }
  if (action === "enable" || action === "disable") {
    await changeWebhook(ctx, { ...which, change: { status: `${action}d` } });
    return "saved";
  }
  if (action === "ping") await pingWebhook(ctx, which);
  else await redeliver(ctx, { ...which, seq });
  return "sent";
}

const parentOf = (path: string) => path.replace(/\/[^/]+$/, "");

/** Answers a button of a webhook. */
export const webhookButton =
  (action: Action) =>
  async (c: PageContext, site: Site): Promise<Response> => {
    const form = await readForm(c);
    const path = parentOf(c.req.path);
    const back = consolePath(form.back, action === "delete" ? parentOf(path) : path);
    const seq = Number(form.seq ?? 0);
    const id = seq ? redeliverId(seq) : undefined;
    const go = (done: FormResult) => doneLocation(c, back, done, id);
    const isAsked = action === "delete" || action === "disable";
    return buttonAction(c, form, {
      draft: { path: isAsked ? c.req.path : back, id },
      list: back,
      // The webhook is looked up inside `work`. Before it, the second submit of a deletion would be a 404, not the result of the first.
      work: async () => {
        try {
          const which = { site, webhookId: c.req.param("webhook_id") ?? "" };
          return await go(await act(c.var.ctx, action, which, seq));
        } catch (error) {
          // The webhook's page tells that it is disabled, and why.
          if (isRefusedFor(error, "webhook_disabled")) return path;
          if (isRefusedFor(error, "event_unknown", "event_erased")) return go("event_gone");
          if (isRefusedFor(error, "webhook_ending")) return go("webhook_ending");
          throw error;
        }
      },
    });
  };

/** Asks before a webhook is disabled. */
export async function disablePage(c: PageContext, named: Site): Promise<Response> {
  const { view } = c.var;
  const { t } = view;
  const { site, path, facts, webhook } = await webhookOf(c, named);
  if (webhook.status === "disabled") return c.redirect(path, 303);
  return askPage(c, site, {
    title: t("Disable this webhook?"),
    text: disabledMeans(view),
    facts,
    action: c.req.path,
    button: t("Disable"),
    keep: t("Cancel"),
    back: path,
  });
}

/** Asks before a webhook is deleted. */
export async function deletePage(c: PageContext, named: Site): Promise<Response> {
  const { t } = c.var.view;
  const { site, path, facts } = await webhookOf(c, named);
  return askPage(c, site, {
    title: t("Delete this webhook?"),
    text: t("Its secret and its deliveries go too. It cannot be undone."),
    facts,
    action: c.req.path,
    button: t("Delete"),
    keep: t("Cancel"),
    back: path,
  });
}
