import { isRefusedFor } from "../../../core/errors.ts";
import { pingWebhook, redeliver } from "../../services/events.ts";
import type { Site } from "../../services/sites.ts";
import { changeWebhook, deleteWebhook, findWebhook, type WebhookOf } from "../../services/webhooks.ts";
import { consolePath } from "../console-path.ts";
import type { PageContext } from "../env.ts";
import { buttonAction } from "../forms/form-action.ts";
import { doneLocation, type FormResult } from "../forms/messages.ts";
import { readForm } from "../forms/read-form.ts";
import { askPage } from "../parts/ask.tsx";
import { enabledLocation } from "./enabled-again.tsx";
import { againLocation, deliveryId } from "./redelivered.ts";
import { disabledMeans, webhookOf } from "./webhook-of.tsx";

type Action = "ping" | "redeliver" | "enable" | "disable" | "delete";

/** The webhook or event that a button belongs to. */
interface PressedButton {
  webhookOfPath: WebhookOf;
  /** The path of the webhook's page, and the page to return to. */
  path: string;
  back: string;
  seq: number;
}

/** @returns the address of the page that shows the result */
async function runAction(
  c: PageContext,
  action: Action,
  { webhookOfPath, path, back, seq }: PressedButton,
): Promise<string> {
  const { ctx } = c.var;
  const locationAfter = (result: FormResult) => doneLocation(c, back, result);
  switch (action) {
    case "delete":
      await deleteWebhook(ctx, webhookOfPath);
      return locationAfter("deleted");
    case "enable": {
      const { disabledAt, failingSince } = await findWebhook(ctx, webhookOfPath);
      await changeWebhook(ctx, { ...webhookOfPath, change: { status: "enabled" } });
      // The webhook also missed the events that failed before the Worker disabled it.
      return disabledAt === null
        ? locationAfter("saved")
        : enabledLocation(c, path, Math.min(disabledAt, failingSince ?? disabledAt));
    }
    case "disable":
      await changeWebhook(ctx, { ...webhookOfPath, change: { status: "disabled" } });
      return locationAfter("saved");
    case "ping":
      return againLocation(c, path, path, (await pingWebhook(ctx, webhookOfPath)).seq);
    case "redeliver":
      await redeliver(ctx, { ...webhookOfPath, seq });
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
    const locationAfter = (result: FormResult) => doneLocation(c, back, result, id);
    const needsConfirmation = action === "delete" || action === "disable";
    return buttonAction(c, form, {
      draft: { path: needsConfirmation ? c.req.path : back, id },
      list: back,
      // The webhook is looked up inside `work`. Otherwise, the second submit of a deletion would get a 404 and not the first one's result.
      work: async () => {
        try {
          const webhookOfPath = { site, webhookId: c.req.param("webhook_id") ?? "" };
          return await runAction(c, action, { webhookOfPath, path, back, seq });
        } catch (error) {
          // The webhook's page says that the webhook is disabled, and why.
          if (isRefusedFor(error, "webhook_disabled")) return path;
          if (isRefusedFor(error, "event_unknown", "event_erased")) return locationAfter("event_gone");
          if (isRefusedFor(error, "webhook_ending")) return locationAfter("webhook_ending");
          throw error;
        }
      },
    });
  };

export async function disablePage(c: PageContext, siteOfPath: Site): Promise<Response> {
  const { view } = c.var;
  const { t } = view;
  const { site, path, facts, webhook } = await webhookOf(c, siteOfPath);
  if (webhook.status === "disabled") return c.redirect(path, 303);
  return askPage(c, {
    site,
    title: t("Disable this webhook?"),
    text: disabledMeans(view),
    facts,
    action: c.req.path,
    button: t("Disable"),
    keep: t("Cancel"),
    back: path,
  });
}

export async function deletePage(c: PageContext, siteOfPath: Site): Promise<Response> {
  const { t } = c.var.view;
  const { site, path, facts } = await webhookOf(c, siteOfPath);
  return askPage(c, {
    site,
    title: t("Delete this webhook?"),
    text: t("Its secret and its deliveries go too. It cannot be undone."),
    facts,
    action: c.req.path,
    button: t("Delete"),
    keep: t("Cancel"),
    back: path,
  });
}
