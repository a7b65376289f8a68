import { isRefusedFor } from "../../../core/errors.ts";
import { pingWebhook, redeliver } from "../../services/events.ts";
import type { Site } from "../../services/sites.ts";
import { changeWebhook, deleteWebhook, findWebhook, type WebhookOf } from "../../services/webhooks.ts";
import { consolePath } from "../console-path.ts";
import type { PageContext } from "../env.ts";
import { buttonAction } from "../forms/form-action.ts";
import { doneLocation, type FormResult } from "../forms/messages.ts";
import { readForm } from "../forms/read-form.ts";
import { askPage } from "../parts/ask-page.tsx";
import { enabledLocation } from "./enabled-again.tsx";
import { againLocation, deliveryId } from "./redelivered.ts";
import { disabledMeans, webhookOf } from "./webhook-of.tsx";

/** The actions of a webhook's buttons. */
type Action = "ping" | "redeliver" | "enable" | "disable" | "delete";

/** What a button was pressed on. */
interface Pressed {
  which: WebhookOf;
  /** The path of the webhook's page, and the page to go back to. */
  path: string;
  back: string;
  /** Of the event to redeliver. */
  seq: number;
}

/** @returns the address of the page that tells the result */
async function act(c: PageContext, action: Action, { which, path, back, seq }: Pressed): Promise<string> {
  const { ctx } = c.var;
  const go = (done: FormResult) => doneLocation(c, back, done);
  switch (action) {
    case "delete":
      await deleteWebhook(ctx, which);
      return go("deleted");
    case "enable": {
      const { disabledAt, failingSince } = await findWebhook(ctx, which);
      await changeWebhook(ctx, { ...which, change: { status: "enabled" } });
      // What failed before the Worker disabled it was missed too.
      return disabledAt === null
        ? go("saved")
        : enabledLocation(c, path, Math.min(disabledAt, failingSince ?? disabledAt));
    }
    case "disable":
      await changeWebhook(ctx, { ...which, change: { status: "disabled" } });
      return go("saved");
    case "ping":
      return againLocation(c, path, path, (await pingWebhook(ctx, which)).seq);
    case "redeliver":
      await redeliver(ctx, { ...which, seq });
      return againLocation(c, path, back, seq);
  }
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
    const id = seq ? deliveryId(seq) : undefined;
    const go = (done: FormResult) => doneLocation(c, back, done, id);
    const isAsked = action === "delete" || action === "disable";
    return buttonAction(c, form, {
      draft: { path: isAsked ? c.req.path : back, id },
      list: back,
      // The webhook is looked up inside `work`. Before it, the second submit of a deletion would be a 404, not the result of the first.
      work: async () => {
        try {
          const which = { site, webhookId: c.req.param("webhook_id") ?? "" };
          return await act(c, action, { which, path, back, seq });
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
