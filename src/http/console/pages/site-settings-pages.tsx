import { CLOSED_RETRY_SECONDS } from "../../../config.ts";
import { ServiceError } from "../../../errors.ts";
import { fieldIssues } from "../../../fields.ts";
import { changeSite, siteChangeSchema } from "../../../services/change-site.ts";
import type { Site } from "../../../services/find-site.ts";
import { siteOf } from "../../operator.ts";
import type { ConsoleRoutes, PageContext } from "../env.ts";
import { show } from "../layout.tsx";
import { doneLocation, doneNotice, type Filled, filled, isRefused } from "../messages.ts";
import { isDraft, once } from "../once.ts";
import { Ask } from "../parts/ask.tsx";
import { Faults, Field, Form } from "../parts/form.tsx";
import { Notice } from "../parts/parts.tsx";
import { readForm, wholeNumber } from "../read-form.ts";

const pathOf = (site: Site) => `/console/sites/${site.id}/settings`;

/** Renames, closes and opens a site, and sets its next chat_id. */
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
  routes.post("/sites/:site_id/close", (c) => changeStatus(c, "closed", "close"));
  routes.post("/sites/:site_id/open", (c) => changeStatus(c, "open", "settings"));
}

/** @param draft the page that shows the form again */
async function changeStatus(c: PageContext, status: "open" | "closed", draft: "close" | "settings"): Promise<Response> {
  const site = await siteOf(c);
  const form = await readForm(c);
  if (await isDraft(c, form)) {
    return c.redirect(await doneLocation(c, `/console/sites/${site.id}/${draft}`, "draft"), 303);
  }
  return once(c, form, pathOf(site), async () => {
    await changeSite(c.var.ctx, { site, change: { status } });
    return doneLocation(c, pathOf(site), status === "open" ? "site_opened" : "site_closed");
  });
}

async function settingsPage(c: PageContext, site: Site, again?: Filled): Promise<Response> {
  if (site.status === "creating") return c.redirect(`/console/sites/${site.id}`, 303);
  const view = c.var.view;
  const { t } = view;
  const path = pathOf(site);
  const done = await doneNotice(c);
  const errors = again?.errors ?? {};
  const body = (
    <>
      {done && <Notice {...done} />}
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
  const view = c.var.view;
  const { t } = view;
  const site = await siteOf(c);
  if (site.status !== "open") return c.redirect(pathOf(site), 303);
  const done = await doneNotice(c);
  const body = (
    <>
      {done && <Notice {...done} />}
      <Ask
        view={view}
        text={t("None of its calls is accepted until you open it again. Nothing is deleted.")}
        facts={
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
        }
        action={`/console/sites/${site.id}/close`}
        button={t("Close now")}
        keep={t("Cancel")}
        back={pathOf(site)}
      />
    </>
  );
  return show(c, { title: t("Close this site?"), site: { ...site, tab: "settings" }, body });
}
