import { CLOSED_RETRY_SECONDS } from "../../../config.ts";
import { ServiceError } from "../../../errors.ts";
import { fieldIssues } from "../../../fields.ts";
import { changeSite, type Site, type SiteChange, siteChangeSchema, siteHasEvents } from "../../../services/sites.ts";
import { siteOf } from "../../operator/context.ts";
import type { ConsoleRoutes, PageContext } from "../env.ts";
import { type Done, doneLocation, type Filled, filled, isRefused } from "../forms/messages.ts";
import { isDraft, once } from "../forms/once.ts";
import { readForm, wholeNumber } from "../forms/read-form.ts";
import { show } from "../layout.tsx";
import { askPage } from "../parts/ask-page.tsx";
import { Faults, Field, Form } from "../parts/form.tsx";

const pathOf = (site: Site) => `/console/sites/${site.id}/settings`;

/** Renames, closes and opens a site, sets its next chat_id, and turns its events on and off. */
export function siteSettingsPages(routes: ConsoleRoutes): void {
  routes.get("/sites/:site_id/settings", async (c) => settingsPage(c, await siteOf(c)));

  // The page has two forms, each with one of the fields.
  routes.post("/sites/:site_id/settings", async (c) => {
    const site = await siteOf(c);
    const form = await readForm(c);
    const { name, first_chat_id } = form;
    const values: Record<string, string> = first_chat_id === undefined ? { name: name ?? "" } : { first_chat_id };
    // An empty number must be named as a wrong one, not as a form that changes nothing.
    const number = first_chat_id === undefined ? undefined : (wholeNumber(first_chat_id) ?? "");
    const input = siteChangeSchema.safeParse({ name, first_chat_id: number });
    const refuse = (issues: { field: string; message: string }[]) =>
      settingsPage(c, site, filled(c.var.view, values, issues));
    if (!input.success) return refuse(fieldIssues(input.error));
    if (await isDraft(c, form)) return settingsPage(c, site, { values, errors: {} });
    const { first_chat_id: firstChatId, ...change } = input.data;
    return once(c, form, pathOf(site), async () => {
      try {
        await changeSite(c.var.ctx, { site, change: { ...change, firstChatId } });
      } catch (error) {
        if (error instanceof ServiceError && error.context.issues !== undefined) return refuse(error.context.issues);
        throw error;
      }
      return doneLocation(c, pathOf(site), firstChatId === undefined ? "site_renamed" : "first_chat_id");
    });
  });

  routes.get("/sites/:site_id/close", (c) => confirmClosingPage(c));
  const button = (step: string, change: SiteChange, done: Done) =>
    routes.post(`/sites/:site_id/${step}`, async (c) => {
      const site = await siteOf(c);
      const form = await readForm(c);
      const draft = step === "close" ? c.req.path : pathOf(site);
      if (await isDraft(c, form)) return c.redirect(await doneLocation(c, draft, "draft"), 303);
      return once(c, form, pathOf(site), async () => {
        await changeSite(c.var.ctx, { site, change });
        return doneLocation(c, pathOf(site), done);
      });
    });
  button("close", { status: "closed" }, "site_closed");
  button("open", { status: "open" }, "site_opened");
  button("events/on", { events: true }, "saved");
  button("events/off", { events: false }, "saved");
}

async function settingsPage(c: PageContext, site: Site, again?: Filled): Promise<Response> {
  if (site.status === "creating") return c.redirect(`/console/sites/${site.id}`, 303);
  const view = c.var.view;
  const { t } = view;
  const path = pathOf(site);
  const errors = again?.errors ?? {};
  const hasEvents = await siteHasEvents(c.var.ctx, { site });
  const body = (
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
  const page = { title: t("Settings"), site: { ...site, tab: "settings" as const }, back: path, body };
  return show(c, { ...page, filled: again && { path, values: again.values } }, isRefused(again) ? 400 : 200);
}

async function confirmClosingPage(c: PageContext): Promise<Response> {
  const { t } = c.var.view;
  const site = await siteOf(c);
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
