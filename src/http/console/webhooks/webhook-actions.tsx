import { isRefusedFor } from "../../../errors.ts";
import { pingWebhook, redeliver, redeliverFailed } from "../../../services/events.ts";
import type { ServiceContext } from "../../../services/service-context.ts";
import { changeWebhook, deleteWebhook, type WebhookOf } from "../../../services/webhooks.ts";
import { siteOf } from "../../operator/context.ts";
import { consolePath } from "../console-path.ts";
import type { ConsoleRoutes } from "../env.ts";
import { type Done, doneLocation } from "../forms/messages.ts";
import { isDraft, once } from "../forms/once.ts";
import { readForm } from "../forms/read-form.ts";
import { askPage } from "../parts/ask-page.tsx";
import { redeliverId } from "./delivery-table.tsx";
import { disabledMeans, webhookOf } from "./webhook-of.tsx";

/** What the buttons of a webhook do: the ends of their paths. */
const ACTIONS = ["ping", "redeliver", "enable", "disable", "delete"] as const;

/** @param seq of the event to redeliver; all that failed when it is undefined */
async function act(
  ctx: ServiceContext,
  action: (typeof ACTIONS)[number],
  which: WebhookOf,
  seq: number | undefined,
): Promise<Done> {
  if (action === "delete") {
    await deleteWebhook(ctx, which);
    return "deleted";
  }
  if (action === "enable" || action === "disable") {
    await changeWebhook(ctx, { ...which, change: { status: `${action}d` } });
    return "saved";
  }
  if (action === "ping") await pingWebhook(ctx, which);
  else if (seq !== undefined) await redeliver(ctx, { ...which, seq });
  else if ((await redeliverFailed(ctx, which)).remaining > 0) return "sent_in_part";
  return "sent";
}

const parentOf = (path: string) => path.replace(/\/[^/]+$/, "");

/** @param base path of a webhook */
export function webhookActions(routes: ConsoleRoutes, base: string): void {
  for (const action of ACTIONS) {
    const deletes = action === "delete";
    const asks = deletes || action === "disable";

    routes.post(`${base}/${action}`, async (c) => {
      const site = await siteOf(c);
      const form = await readForm(c);
      const path = parentOf(c.req.path);
      const back = consolePath(form.back, deletes ? parentOf(path) : path);
      const seq = form.seq === undefined ? undefined : Number(form.seq);
      const go = (done: Done, to = back) => doneLocation(c, to, done, seq ? redeliverId(seq) : undefined);
      if (await isDraft(c, form)) return c.redirect(await go("draft", asks ? c.req.path : back), 303);
      // The webhook is looked for inside, so that a form sent twice is answered alike even when it deletes the webhook.
      return once(c, form, back, async () => {
        try {
          const which = { site, webhookId: c.req.param("webhook_id") ?? "" };
          return await go(await act(c.var.ctx, action, which, seq));
        } catch (error) {
          // Its page says that it is disabled, and why.
          if (isRefusedFor(error, "webhook_disabled")) return path;
          if (isRefusedFor(error, "event_unknown", "event_erased")) return go("event_gone");
          throw error;
        }
      });
    });

    if (!asks) continue;
    routes.get(`${base}/${action}`, async (c) => {
      const { view } = c.var;
      const { t } = view;
      const { site, path, facts, webhook } = await webhookOf(c);
      if (!deletes && webhook.status === "disabled") return c.redirect(path, 303);
      return askPage(c, site, {
        title: deletes ? t("Delete this webhook?") : t("Disable this webhook?"),
        text: deletes ? t("Its secret and its deliveries go too. It cannot be undone.") : disabledMeans(view),
        facts,
        action: c.req.path,
        button: deletes ? t("Delete") : t("Disable"),
        keep: t("Cancel"),
        back: path,
      });
    });
  }
}
