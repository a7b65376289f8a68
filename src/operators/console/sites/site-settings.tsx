import { CLOSED_RETRY_SECONDS } from "../../../core/config.ts";
import {
  changeSite,
  type Retention,
  readRetention,
  type Site,
  type SiteChange,
  siteChangeSchema,
  siteHasEvents,
} from "../../services/sites.ts";
import { listWebhooks } from "../../services/webhooks.ts";
import type { PageContext } from "../env.ts";
import { buttonAction, enteredFields, formAction } from "../forms/form-action.ts";
import { doneLocation, type FilledForm, type FormResult } from "../forms/messages.ts";
import { readForm } from "../forms/read-form.ts";
import { showPage } from "../layout.tsx";
import { askPage } from "../parts/ask.tsx";
import { daysKeptText } from "../parts/days-kept-text.ts";
import { AskLink, type Fields, FieldsForm, Form, FormErrors, FormFields } from "../parts/form.tsx";
import { Badge, type FactRows, Facts, type Setting, Settings, Time } from "../parts/parts.tsx";
import { SiteState } from "../parts/site-frame.tsx";
import { useView, type View } from "../view.ts";
import { sitePath } from "./site-paths.ts";

export async function postSettings(c: PageContext, site: Site): Promise<Response> {
  const form = await readForm(c);
  const { name = "" } = form;
  return formAction(c, form, {
    values: { name },
    entered: enteredFields(c.var.view, siteChangeSchema.safeParse({ name })),
    page: (filledForm) => siteSettingsPage(c, site, filledForm),
    list: c.req.path,
    work: async ({ name }) => {
      await changeSite(c.var.ctx, { site, change: { name } });
      return doneLocation(c, c.req.path, "site_renamed");
    },
  });
}

/**
 * Makes the answer to a button that changes a site.
 *
 * @param more `isAsked`: a page of its own, at the path of the form, has the button; `before`: the result when nothing was left to change
 */
const siteButton =
  (change: SiteChange, result: FormResult, more: { isAsked?: true; before?: FormResult; id?: string } = {}) =>
  async (c: PageContext, site: Site): Promise<Response> => {
    const { ctx } = c.var;
    const list = sitePath(site, "/settings");
    return buttonAction(c, await readForm(c), {
      draft: { path: more.isAsked ? c.req.path : list },
      list,
      work: async () => {
        const isBefore = more.before !== undefined && (await siteHasEvents(ctx, { site })) === change.events;
        await changeSite(ctx, { site, change });
        return doneLocation(c, list, isBefore && more.before ? more.before : result, more.id);
      },
    });
  };

export const postClose = siteButton({ status: "closed" }, "site_closed", { isAsked: true });
export const postOpen = siteButton({ status: "open" }, "site_opened");
export const postEventsOn = siteButton({ events: true }, "saved");
export const postEventsOff = siteButton({ events: false }, "events_off", {
  isAsked: true,
  before: "events_off_before",
  id: "events",
});

export async function closePage(c: PageContext, site: Site): Promise<Response> {
  const { t } = c.var;
  const back = sitePath(site, "/settings");
  if (site.status !== "open") return c.redirect(back, 303);
  return askPage(c, {
    site: { ...site, tab: "settings" },
    title: t("Close this site?"),
    text: t("None of its calls is accepted until you open it again. Nothing is deleted."),
    facts: [
      [t("Name"), <bdi>{site.name}</bdi>],
      [
        t("Its callers get"),
        t("503 with Retry-After: {0}. Nothing is used up, so they may send the same again.", CLOSED_RETRY_SECONDS),
      ],
    ],
    button: t("Close now"),
    back,
  });
}

/** Asks before the events of a site are turned off, and says what is lost from then on. */
export async function eventsOffPage(c: PageContext, site: Site): Promise<Response> {
  const { ctx, view, t } = c.var;
  const back = sitePath(site, "/settings");
  const [hasEvents, webhooks] = await Promise.all([siteHasEvents(ctx, { site }), listWebhooks(ctx, { site })]);
  if (!hasEvents) return c.redirect(back, 303);
  const enabled = webhooks.filter(({ status }) => status === "enabled");
  return askPage(c, {
    site: { ...site, tab: "settings" },
    title: t("Turn the events of this site off?"),
    text: t(
      "From then on its calls leave no events, and nobody is told when a customer is erased. Nothing makes up for it later.",
    ),
    facts: [
      [t("Webhooks that get nothing new"), view.number(enabled.length)],
      [t("Earlier events"), t("They stay, and what is pending is still sent.")],
      [
        t("When they are turned on again"),
        t("Calls that came in between left no events: none can be sent again or pulled for them."),
      ],
    ],
    button: t("Turn off now"),
    back,
  });
}

export async function siteSettingsPage(c: PageContext, site: Site, filled?: FilledForm): Promise<Response> {
  if (site.status === "creating") return c.redirect(sitePath(site), 303);
  const { view, ctx, t } = c.var;
  const path = sitePath(site, "/settings");
  const { events: hasEvents, ...retention } = await readRetention(ctx, { site });
  const body = view.may(path) ? (
    <SettingForms site={site} hasEvents={hasEvents} retention={retention} filled={filled} />
  ) : (
    <section class="card">
      <Facts rows={settingFacts(view, site, hasEvents, retention)} />
    </section>
  );
  return showPage(c, { title: t("Settings"), site: { ...site, tab: "settings" }, filled, body });
}

/** The settings, for readers who may not change them. */
const settingFacts = (view: View, site: Site, hasEvents: boolean, retention: Retention): FactRows => {
  const { t } = view;
  return [
    [t("Name"), <bdi>{site.name}</bdi>],
    [t("Status"), <SiteState site={site} />],
    [t("First chat_id"), site.firstChatId],
    [t("Events"), hasEvents ? t("On") : t("Off")],
    [
      t("How long sessions are kept"),
      <>
        {daysKeptText(view, retention.days)}
        <RetentionProgress retention={retention} />
      </>,
    ],
    [t("Created"), <Time at={site.createdAt} />],
  ];
};

function SettingForms(props: { site: Site; hasEvents: boolean; retention: Retention; filled: FilledForm | undefined }) {
  const { site, hasEvents, retention, filled } = props;
  const view = useView();
  const { t } = view;
  const path = (page: string) => sitePath(site, page);
  const name: Fields = { name: { label: t("Name"), value: site.name, required: true, maxlength: 100 } };
  const days: Fields = {
    days: {
      label: t("Days"),
      value: String(retention.days ?? ""),
      hint: t("1 to 3650. Left empty, sessions are kept for ever. The next page says what would go, and asks again."),
      inputmode: "numeric",
      maxlength: 4,
    },
  };
  const chatId: Fields = {
    first_chat_id: { label: t("Next chat_id"), required: true, inputmode: "numeric", maxlength: 16 },
  };
  /** A form that leads to a question: the next page's address has what is typed. */
  const askForm = (page: string, fields: Fields, button: string) => (
    <form method="get" action={path(page)}>
      <FormFields fields={fields} filled={filled} />
      <button type="submit" class="plain">
        {button}
      </button>
    </form>
  );
  const button = (page: string, label: string) => (
    <Form action={path(page)}>
      <button type="submit">{label}</button>
    </Form>
  );
  const question = (page: string, label: string) => (
    <p>
      <AskLink href={path(page)}>{label}</AskLink>
    </p>
  );
  const isClosed = site.status !== "open";
  const settings: (Setting | false)[] = [
    {
      title: t("Site"),
      change: <FieldsForm action={path("/settings")} fields={name} filled={filled} button={t("Rename")} plain />,
    },
    {
      id: "retention",
      title: t("How long sessions are kept"),
      text: t(
        "Older sessions are deleted for good, with their messages, participants and events. The cron does it in steps.",
      ),
      change: [
        <RetentionProgress retention={retention} />,
        view.may(path("/retention")) && askForm("/retention", days, t("Go on…")),
        !view.may(path("/retention")) && <Facts rows={[[t("Now"), daysKeptText(view, retention.days)]]} />,
        !view.may(path("/retention")) && <p class="hint">{t("Only an owner may change it.")}</p>,
      ],
    },
    {
      id: "events",
      title: t("Events"),
      text: t(
        "While they are on, each accepted call leaves an event for the webhooks and for GET /admin/sites/{0}/events. While they are off, calls leave none, not even for later.",
        site.id,
      ),
      change: [
        <p>{hasEvents ? <Badge kind="good" label={t("On")} /> : <Badge kind="off" label={t("Off")} />}</p>,
        hasEvents ? question("/events/off", t("Turn events off…")) : button("/events/on", t("Turn events on")),
      ],
    },
    view.may(path("/first-chat-id")) && {
      id: "numbers",
      title: t("Numbers of sessions (chat_id)"),
      text: t("The next session gets this number (chat_id), later ones count on from it. It cannot be lowered."),
      change: askForm("/first-chat-id", chatId, t("Set the chat_id…")),
    },
    view.may(path("/export")) && {
      title: t("Export this site"),
      text: t("Its agents, apps and sessions as files, for an archive or to take along."),
      change: (
        <a class="button plain" href={path("/export")}>
          {t("Export this site…")}
        </a>
      ),
    },
    !isClosed && {
      title: t("Close this site"),
      text: t("None of its calls is accepted until you open it again. Nothing is deleted."),
      change: question("/close", t("Close this site…")),
    },
    isClosed && {
      title: t("Open this site"),
      text: t("Its apps, agents and sessions are as they were. Calls are accepted again at once."),
      change: button("/open", t("Open this site")),
    },
    isClosed &&
      view.may(path("/delete"), "GET") && {
        title: t("Delete this site"),
        text: t("All its data goes for good, in steps."),
        change: question("/delete", t("Delete this site…")),
      },
  ];
  return (
    <>
      <FormErrors filled={filled} fields={{ ...name, ...days, ...chatId }} />
      <Settings rows={settings} />
    </>
  );
}

/** How far the deletion of old sessions is: how many that are old enough are still stored, and the time of the oldest. */
export function RetentionProgress({ retention: { days, oldestAt, older } }: { retention: Retention }) {
  const view = useView();
  const { t } = view;
  if (days === null) return null;
  const retentionText = daysKeptText(view, days);
  if (oldestAt === null || older === null || older === 0)
    return <p>{t("No session is older than {0}.", retentionText)}</p>;
  return (
    <>
      <p>
        {t(
          "Sessions older than {0} that are still to go: about {1}. The oldest is from {2}.",
          retentionText,
          view.number(older),
          view.time(oldestAt),
        )}
      </p>
      <p class="hint">{t("Estimated from ids, not counted.")}</p>
    </>
  );
}
