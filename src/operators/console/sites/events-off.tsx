import { changeSite, type Site, siteHasEvents } from "../../services/sites.ts";
import { listWebhooks } from "../../services/webhooks.ts";
import type { PageContext } from "../env.ts";
import { buttonAction } from "../forms/form-action.ts";
import { doneLocation } from "../forms/messages.ts";
import { readForm } from "../forms/read-form.ts";
import { askPage } from "../parts/ask.tsx";
import { settingsPath } from "./site-paths.ts";

/** Asks before the events of a site are turned off, and says what is lost from then on. */
export async function eventsOffPage(c: PageContext, site: Site): Promise<Response> {
  const { ctx, view } = c.var;
  const { t } = view;
  const [hasEvents, webhooks] = await Promise.all([siteHasEvents(ctx, { site }), listWebhooks(ctx, { site })]);
  if (!hasEvents) return c.redirect(settingsPath(site), 303);
  const enabled = webhooks.filter(({ status }) => status === "enabled");
  return askPage(c, {
    site: { ...site, tab: "settings" },
    title: t("Turn the events of this site off?"),
    text: t(
      "From then on its calls leave no events, and nobody is told when a customer is erased. Nothing makes up for it later.",
    ),
    facts: (
      <>
        <dt>{t("Webhooks that get nothing new")}</dt>
        <dd>{new Intl.NumberFormat(view.language).format(enabled.length)}</dd>
        <dt>{t("Earlier events")}</dt>
        <dd>{t("They stay, and what is pending is still sent.")}</dd>
        <dt>{t("When they are turned on again")}</dt>
        <dd>{t("Calls that came in between left no events: none can be sent again or pulled for them.")}</dd>
      </>
    ),
    action: c.req.path,
    button: t("Turn off now"),
    keep: t("Cancel"),
    back: settingsPath(site),
  });
}

/** Answers the form of {@link eventsOffPage}. It says so when somebody else had turned the events off before. */
export async function postEventsOff(c: PageContext, site: Site): Promise<Response> {
  const { ctx } = c.var;
  return buttonAction(c, await readForm(c), {
    draft: { path: c.req.path },
    list: settingsPath(site),
    work: async () => {
      const hadEvents = await siteHasEvents(ctx, { site });
      await changeSite(ctx, { site, change: { events: false } });
      return doneLocation(c, settingsPath(site), hadEvents ? "events_off" : "events_off_before", "events");
    },
  });
}
