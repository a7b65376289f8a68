import {
  changeSite,
  type Retention,
  readRetention,
  type Site,
  type SiteChange,
  siteChangeSchema,
} from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { buttonAction, enteredFields, formAction } from "../forms/form-action.ts";
import { doneLocation, type FilledForm, type FormResult } from "../forms/messages.ts";
import { readForm } from "../forms/read-form.ts";
import { showPage } from "../layout.tsx";
import { daysKeptText } from "../parts/days-kept-text.ts";
import { AskLink, Field, Form, FormErrors } from "../parts/form.tsx";
import { SiteState } from "../parts/home-state.tsx";
import { Badge, Time } from "../parts/parts.tsx";
import { Setting } from "../parts/setting.tsx";
import type { View } from "../view.ts";
import { RetentionCard, RetentionProgress } from "./retention-card.tsx";
import { chatIdPath, deletePath, eventsOffPath, settingsPath } from "./site-paths.ts";

export async function postSettings(c: PageContext, site: Site): Promise<Response> {
  const form = await readForm(c);
  const { name = "" } = form;
  return formAction(c, form, {
    values: { name },
    entered: enteredFields(c.var.view, siteChangeSchema.safeParse({ name })),
    page: (filledForm) => settingsPage(c, site, filledForm),
    list: settingsPath(site),
    work: async ({ name }) => {
      await changeSite(c.var.ctx, { site, change: { name } });
      return doneLocation(c, settingsPath(site), "site_renamed");
    },
  });
}

/** Answers a button that changes a site. @param draft the path of the page that has the button */
const siteButton = async (
  c: PageContext,
  site: Site,
  change: SiteChange,
  result: FormResult,
  draft = settingsPath(site),
) =>
  buttonAction(c, await readForm(c), {
    draft: { path: draft },
    list: settingsPath(site),
    work: async () => {
      await changeSite(c.var.ctx, { site, change });
      return doneLocation(c, settingsPath(site), result);
    },
  });

export const postClose = (c: PageContext, site: Site): Promise<Response> =>
  siteButton(c, site, { status: "closed" }, "site_closed", c.req.path);
export const postOpen = (c: PageContext, site: Site): Promise<Response> =>
  siteButton(c, site, { status: "open" }, "site_opened");
export const postEventsOn = (c: PageContext, site: Site): Promise<Response> =>
  siteButton(c, site, { events: true }, "saved");

export async function settingsPage(c: PageContext, site: Site, filledForm?: FilledForm): Promise<Response> {
  if (site.status === "creating") return c.redirect(`/console/sites/${site.id}`, 303);
  const view = c.var.view;
  const { t } = view;
  const path = settingsPath(site);
  const errors = filledForm?.errors ?? {};
  const { events: hasEvents, ...retention } = await readRetention(c.var.ctx, { site });
  const forms = (
    <>
      <FormErrors filled={filledForm} fields={{ name: t("Name"), first_chat_id: t("Next chat_id"), days: t("Days") }} />
      <div class="card settings">
        <Setting title={t("Site")}>
          <Form action={path}>
            <Field
              label={t("Name")}
              name="name"
              value={filledForm?.values.name ?? site.name}
              error={errors.name ?? errors[""]}
              required
              maxlength={100}
            />
            <button type="submit" class="plain">
              {t("Rename")}
            </button>
          </Form>
        </Setting>
        <RetentionCard view={view} site={site} retention={retention} filledForm={filledForm} />
        <Setting
          id="events"
          title={t("Events")}
          text={t(
            "While they are on, each accepted call leaves an event for the webhooks and for GET /admin/sites/{0}/events. While they are off, calls leave none, not even for later.",
            site.id,
          )}
        >
          <p>{hasEvents ? <Badge kind="good" label={t("On")} /> : <Badge kind="off" label={t("Off")} />}</p>
          {hasEvents ? (
            <p>
              <AskLink href={eventsOffPath(site)}>{t("Turn events off…")}</AskLink>
            </p>
          ) : (
            <Form action={`/console/sites/${site.id}/events/on`}>
              <button type="submit">{t("Turn events on")}</button>
            </Form>
          )}
        </Setting>
        {view.may(chatIdPath(site)) && (
          <Setting
            id="numbers"
            title={t("Numbers of sessions (chat_id)")}
            text={t("The next session gets this number (chat_id), later ones count on from it. It cannot be lowered.")}
          >
            <form method="get" action={chatIdPath(site)}>
              <Field
                label={t("Next chat_id")}
                name="first_chat_id"
                value={filledForm?.values.first_chat_id}
                error={errors.first_chat_id}
                required
                inputmode="numeric"
                maxlength={16}
              />
              <button type="submit" class="plain">
                {t("Set the chat_id…")}
              </button>
            </form>
          </Setting>
        )}
        {site.status === "open" ? (
          <Setting
            title={t("Close this site")}
            text={t("None of its calls is accepted until you open it again. Nothing is deleted.")}
          >
            <p>
              <a class="button danger" href={`/console/sites/${site.id}/close`}>
                {t("Close this site…")}
              </a>
            </p>
          </Setting>
        ) : (
          <>
            <Setting
              title={t("Open this site")}
              text={t("Its apps, agents and sessions are as they were. Calls are accepted again at once.")}
            >
              <Form action={`/console/sites/${site.id}/open`}>
                <button type="submit">{t("Open this site")}</button>
              </Form>
            </Setting>
            {view.may(deletePath(site), "GET") && (
              <Setting title={t("Delete this site")} text={t("All its data goes for good, in steps.")}>
                <p>
                  <AskLink href={deletePath(site)}>{t("Delete this site…")}</AskLink>
                </p>
              </Setting>
            )}
          </>
        )}
      </div>
    </>
  );
  const body = view.may(path) ? (
    forms
  ) : (
    <SettingFacts view={view} site={site} hasEvents={hasEvents} retention={retention} />
  );
  const page = { title: t("Settings"), site: { ...site, tab: "settings" as const }, back: path, body };
  return showPage(c, { ...page, filled: filledForm });
}

/** The settings, for readers who may not change them. */
function SettingFacts(props: { view: View; site: Site; hasEvents: boolean; retention: Retention }) {
  const { view, site, hasEvents, retention } = props;
  const { t } = view;
  return (
    <section class="card">
      <dl class="facts">
        <dt>{t("Name")}</dt>
        <dd>
          <bdi>{site.name}</bdi>
        </dd>
        <dt>{t("Status")}</dt>
        <dd>
          <SiteState site={site} />
        </dd>
        <dt>{t("First chat_id")}</dt>
        <dd>{site.firstChatId}</dd>
        <dt>{t("Events")}</dt>
        <dd>{hasEvents ? t("On") : t("Off")}</dd>
        <dt>{t("How long sessions are kept")}</dt>
        <dd>
          {daysKeptText(view, retention.days)}
          <RetentionProgress view={view} retention={retention} />
        </dd>
        <dt>{t("Created")}</dt>
        <dd>
          <Time at={site.createdAt} />
        </dd>
      </dl>
    </section>
  );
}
