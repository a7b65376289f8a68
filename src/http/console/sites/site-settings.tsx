import { CLOSED_RETRY_SECONDS } from "../../../config.ts";
import { changeSite, type Site, type SiteChange, siteChangeSchema, siteHasEvents } from "../../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { buttonAction, entered, formAction } from "../forms/form-action.ts";
import { doneLocation, type Filled, type FormResult, isRefused } from "../forms/messages.ts";
import { readForm, wholeNumber } from "../forms/read-form.ts";
import { showPage } from "../layout.tsx";
import { askPage } from "../parts/ask-page.tsx";
import { Faults, Field, Form } from "../parts/form.tsx";
import { SiteState } from "../parts/home-state.tsx";
import { Time } from "../parts/parts.tsx";
import type { View } from "../view.ts";

const pathOf = (site: Site) => `/console/sites/${site.id}/settings`;

/** Answers the two forms of the page: one renames the site, the other sets its next chat_id. */
export async function postSettings(c: PageContext, site: Site): Promise<Response> {
  const form = await readForm(c);
  const { name, first_chat_id } = form;
  // An empty field becomes "", which the schema refuses by the field's name. Undefined would be "the form changes nothing".
  const number = first_chat_id === undefined ? undefined : (wholeNumber(first_chat_id) ?? "");
  return formAction(c, form, {
    values: first_chat_id === undefined ? { name: name ?? "" } : { first_chat_id },
    entered: entered(c.var.view, siteChangeSchema.safeParse({ name, first_chat_id: number })),
    page: (again) => settingsPage(c, site, again),
    list: pathOf(site),
    work: async ({ first_chat_id: firstChatId, ...change }) => {
      await changeSite(c.var.ctx, { site, change: { ...change, firstChatId } });
      return doneLocation(c, pathOf(site), firstChatId === undefined ? "site_renamed" : "first_chat_id");
    },
  });
}

/** Answers a button that changes a site. @param draft path of the page that has the button */
const siteButton = async (c: PageContext, site: Site, change: SiteChange, done: FormResult, draft = pathOf(site)) =>
  buttonAction(c, await readForm(c), {
    draft: { path: draft },
    list: pathOf(site),
    work: async () => {
      await changeSite(c.var.ctx, { site, change });
      return doneLocation(c, pathOf(site), done);
    },
  });

export const postClose = (c: PageContext, site: Site): Promise<Response> =>
  siteButton(c, site, { status: "closed" }, "site_closed", c.req.path);
export const postOpen = (c: PageContext, site: Site): Promise<Response> =>
  siteButton(c, site, { status: "open" }, "site_opened");
export const postEventsOn = (c: PageContext, site: Site): Promise<Response> =>
  siteButton(c, site, { events: true }, "saved");
export const postEventsOff = (c: PageContext, site: Site): Promise<Response> =>
  siteButton(c, site, { events: false }, "saved");

export async function settingsPage(c: PageContext, site: Site, again?: Filled): Promise<Response> {
  if (site.status === "creating") return c.redirect(`/console/sites/${site.id}`, 303);
  const view = c.var.view;
  const { t } = view;
  const path = pathOf(site);
  const errors = again?.errors ?? {};
  const hasEvents = await siteHasEvents(c.var.ctx, { site });
  const forms = (
    <>
      <Faults view={view} filled={again} labels={{ name: t("Name"), first_chat_id: t("Next chat_id") }} />
      <section class="card">
        <h2>{t("Rename this site")}</h2>
        <Form view={view} action={path}>
          <Field
            label={t("Name")}
            name="name"
            value={again?.values.name ?? site.name}
            error={errors.name ?? errors[""]}
            required
            maxlength={100}
          />
          <button type="submit">{t("Rename")}</button>
        </Form>
      </section>
      <section class="card">
        <h2>{t("Skip chat_ids")}</h2>
        <p>{t("The next session gets this chat_id, later ones count on from it. It cannot be lowered.")}</p>
        <Form view={view} action={path}>
          <Field
            label={t("Next chat_id")}
            name="first_chat_id"
            value={again?.values.first_chat_id}
            error={errors.first_chat_id}
            required
            inputmode="numeric"
            maxlength={16}
          />
          <button type="submit">{t("Set the chat_id")}</button>
        </Form>
      </section>
      <section class="card" id="events">
        <h2>{t("Events")}</h2>
        <p>
          {t(
            "While they are on, each accepted call leaves an event for the webhooks and for GET /admin/sites/{0}/events. While they are off, calls leave none, not even for later.",
            site.id,
          )}
        </p>
        <Form view={view} action={`/console/sites/${site.id}/events/${hasEvents ? "off" : "on"}`}>
          {hasEvents ? (
            <button type="submit" class="danger">
              {t("Turn events off")}
            </button>
          ) : (
            <button type="submit">{t("Turn events on")}</button>
          )}
        </Form>
      </section>
      {site.status === "open" ? (
        <p>
          <a class="button danger" href={`/console/sites/${site.id}/close`}>
            {t("Close this site…")}
          </a>
        </p>
      ) : (
        <section class="card">
          <h2>{t("Open this site")}</h2>
          <p>{t("Its apps, agents and sessions are as they were. Calls are accepted again at once.")}</p>
          <Form view={view} action={`/console/sites/${site.id}/open`}>
            <button type="submit">{t("Open this site")}</button>
          </Form>
        </section>
      )}
    </>
  );
  const body = view.may(path) ? forms : <SettingFacts view={view} site={site} hasEvents={hasEvents} />;
  const page = { title: t("Settings"), site: { ...site, tab: "settings" as const }, back: path, body };
  return showPage(c, { ...page, filled: again && { path, values: again.values } }, isRefused(again) ? 400 : 200);
}

/** The settings, for readers who may not change them. */
function SettingFacts({ view, site, hasEvents }: { view: View; site: Site; hasEvents: boolean }) {
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
          <SiteState view={view} status={site.status} />
        </dd>
        <dt>{t("First chat_id")}</dt>
        <dd>{site.firstChatId}</dd>
        <dt>{t("Events")}</dt>
        <dd>{hasEvents ? t("On") : t("Off")}</dd>
        <dt>{t("Created")}</dt>
        <dd>
          <Time view={view} at={site.createdAt} />
        </dd>
      </dl>
    </section>
  );
}

export async function closePage(c: PageContext, site: Site): Promise<Response> {
  const { t } = c.var.view;
  if (site.status !== "open") return c.redirect(pathOf(site), 303);
  return askPage(
    c,
    { ...site, tab: "settings" },
    {
      title: t("Close this site?"),
      text: t("None of its calls is accepted until you open it again. Nothing is deleted."),
      facts: (
        <>
          <dt>{t("Name")}</dt>
          <dd>
            <bdi>{site.name}</bdi>
          </dd>
          <dt>{t("Its callers get")}</dt>
          <dd>
            {t(
              "503 with Retry-After: {0}. No ranstr is used up, so they may send the same again.",
              CLOSED_RETRY_SECONDS,
            )}
          </dd>
        </>
      ),
      action: c.req.path,
      button: t("Close now"),
      keep: t("Cancel"),
      back: pathOf(site),
    },
  );
}
