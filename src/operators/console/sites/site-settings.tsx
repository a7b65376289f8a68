import { changeSite, type Retention, readRetention, type Site, siteChangeSchema } from "../../services/sites.ts";
import { sitePath } from "../console-path.ts";
import type { PageContext } from "../env.ts";
import { enteredFields, formAction } from "../forms/form-action.ts";
import { doneLocation, type FilledForm } from "../forms/messages.ts";
import { showPage } from "../layout.tsx";
import { AskLink, type Fields, FieldsForm, FormErrors, FormFields, SendButton } from "../parts/form.tsx";
import { Badge, ButtonLink, Card, Facts, Settings, Time } from "../parts/parts.tsx";
import { useView, type View } from "../view.ts";

export async function postSettings(c: PageContext, site: Site): Promise<Response> {
  const { name = "" } = c.var.form;
  return formAction(c, {
    entered: enteredFields(c.var.view, siteChangeSchema.safeParse({ name })),
    page: (filledForm) => siteSettingsPage(c, site, filledForm),
    work: async ({ name }) => {
      await changeSite(c.var.ctx, { site, change: { name } });
      return doneLocation(c, c.req.path, "site_renamed");
    },
  });
}

export async function siteSettingsPage(c: PageContext, site: Site, filled?: FilledForm): Promise<Response> {
  if (site.status === "creating") return c.redirect(sitePath(site), 303);
  const { view, ctx, t } = c.var;
  const retention = await readRetention(ctx, { site });
  const retentionFact = [daysKeptText(view, retention.days), <RetentionProgress retention={retention} />];
  const body = view.may(sitePath(site, "/settings")) ? (
    settingForms(view, site, retention, filled)
  ) : (
    <Card
      facts={[
        [t("Name"), <bdi>{site.name}</bdi>],
        [t("Status"), site.status === "open" ? t("Open") : t("Closed")],
        [t("First chat_id"), site.firstChatId],
        [t("Events"), retention.events ? t("On") : t("Off")],
        [t("How long sessions are kept"), retentionFact],
        [t("Created"), <Time at={site.createdAt} />],
      ]}
    />
  );
  return showPage(c, { title: t("Settings"), site: { ...site, tab: "settings" }, filled, body });
}

function settingForms(view: View, site: Site, retention: Retention & { events: boolean }, filled?: FilledForm) {
  const { t } = view;
  const path = (page: string) => sitePath(site, page);
  const fields = {
    name: { label: t("Name"), value: site.name, required: true, maxlength: 100 },
    days: {
      label: t("Days"),
      value: String(retention.days ?? ""),
      hint: t("1 to 3650. Left empty, sessions are kept for ever. The next page says what would go, and asks again."),
      inputmode: "numeric",
      maxlength: 4,
    },
    first_chat_id: { label: t("Next chat_id"), required: true, inputmode: "numeric", maxlength: 16 },
  } satisfies Fields;
  const { name, days, first_chat_id } = fields;
  /** A form that leads to a question: the next page's address has what is typed. */
  const askForm = (page: string, asked: Fields, button: string) => (
    <form method="get" action={path(page)}>
      <FormFields fields={asked} filled={filled} />
      <SendButton label={button} class="plain" />
    </form>
  );
  const isClosed = site.status !== "open";
  const settings: Parameters<typeof Settings>[0]["rows"] = [
    {
      title: t("Site"),
      change: <FieldsForm action={path("/settings")} fields={{ name }} filled={filled} button={t("Rename")} plain />,
    },
    {
      id: "retention",
      title: t("How long sessions are kept"),
      text: t("The cron deletes older sessions for good, with their messages, participants and events."),
      change: [
        <RetentionProgress retention={retention} />,
        view.may(path("/retention"))
          ? askForm("/retention", { days }, t("Go on…"))
          : [
              <Facts rows={[[t("Now"), daysKeptText(view, retention.days)]]} />,
              <p class="hint">{t("Only an owner may change it.")}</p>,
            ],
      ],
    },
    {
      id: "events",
      title: t("Events"),
      text: t("An accepted call leaves an event for webhooks and the admin API. While off, none does, not even later."),
      change: [
        <p>{retention.events ? <Badge kind="good" label={t("On")} /> : <Badge kind="off" label={t("Off")} />}</p>,
        retention.events ? (
          <AskLink href={path("/events/off")}>{t("Turn events off…")}</AskLink>
        ) : (
          <FieldsForm action={path("/events/on")} fields={{}} button={t("Turn events on")} />
        ),
      ],
    },
    view.may(path("/first-chat-id")) && {
      id: "numbers",
      title: t("Numbers of sessions (chat_id)"),
      text: t("The next session gets this number (chat_id), later ones count on from it. It cannot be lowered."),
      change: askForm("/first-chat-id", { first_chat_id }, t("Set the chat_id…")),
    },
    view.may(path("/export")) && {
      title: t("Export this site"),
      text: t("Its agents, apps and sessions as files, for an archive or to take along."),
      change: <ButtonLink href={path("/export")} label={t("Export this site…")} plain />,
    },
    !isClosed && {
      title: t("Close this site"),
      text: t("None of its calls is accepted until you open it again. Nothing is deleted."),
      change: <AskLink href={path("/close")}>{t("Close this site…")}</AskLink>,
    },
    isClosed && {
      title: t("Open this site"),
      text: t("Its apps, agents and sessions are as they were. Calls are accepted again at once."),
      change: <FieldsForm action={path("/open")} fields={{}} button={t("Open this site")} />,
    },
    isClosed &&
      view.may(path("/delete"), "GET") && {
        title: t("Delete this site"),
        text: t("All its data goes for good, in steps."),
        change: <AskLink href={path("/delete")}>{t("Delete this site…")}</AskLink>,
      },
  ];
  return (
    <>
      <FormErrors filled={filled} fields={fields} />
      <Settings rows={settings} />
    </>
  );
}

/** How far the deletion of old sessions is: how many that are old enough are still stored, and the time of the oldest. */
export function RetentionProgress({ retention: { days, oldestAt, older } }: { retention: Retention }) {
  const view = useView();
  const { t, number, time, now } = view;
  if (days === null) return null;
  const span = daysKeptText(view, days);
  if (oldestAt === null || !older) return <p>{t("No session is older than {0}.", span)}</p>;
  const [first, last] = [oldestAt, now - days * 86_400].map(time);
  return (
    <>
      <p>{t("Sessions to delete, older than {0}: about {1}, from {2} to {3}.", span, number(older), first, last)}</p>
      <p class="hint">{t("Estimated from ids, not counted.")}</p>
    </>
  );
}

/** How long a site keeps its sessions, in words. */
export function daysKeptText({ t }: View, days: number | null): string {
  if (days === null) return t("For ever");
  return days === 1 ? t("1 day") : t("{0} days", days);
}
