import { isVisible } from "../../../core/fields.ts";
import { MAIN_HOME } from "../../../core/homes.ts";
import { noteHome } from "../../http/context.ts";
import { LIMIT_MS, readAttention } from "../../services/attention.ts";
import { readHealth } from "../../services/health.ts";
import { homeFill } from "../../services/home-fill.ts";
import { createSite, listSites, newSiteSchema, type Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { enteredFields, formAction } from "../forms/form-action.ts";
import { doneLocation, type FilledForm } from "../forms/messages.ts";
import { readForm, wholeNumber } from "../forms/read-form.ts";
import { showPage } from "../layout.tsx";
import { Action, Field, Fold, Form, FormErrors } from "../parts/form.tsx";
import { SiteState, type SiteTrouble } from "../parts/home-state.tsx";
import { Ago } from "../parts/parts.tsx";
import { MoreLink, Table } from "../parts/table.tsx";
import type { View } from "../view.ts";
import { AttentionList, fillingHomes, needsOf, partsInNeed, SwitchedOffParts, troubleOf } from "./attention-list.tsx";

export async function postSite(c: PageContext): Promise<Response> {
  const form = await readForm(c);
  const { name = "", home = MAIN_HOME, first_chat_id = "" } = form;
  const { view, ctx } = c.var;
  const checked = newSiteSchema.safeParse({ name, home, first_chat_id: wholeNumber(first_chat_id) });
  const isUnknown = checked.success && !ctx.config.homes.has(home);
  return formAction(c, form, {
    values: { name, home, first_chat_id },
    entered: isUnknown ? { errors: { home: view.t("Choose one of the homes.") } } : enteredFields(view, checked),
    page: (filledForm) => sitesPage(c, filledForm),
    list: "/console",
    work: async ({ name, first_chat_id: firstChatId }) => {
      noteHome(c, home);
      const site = await createSite(ctx, { name, home, firstChatId });
      return doneLocation(c, `/console/sites/${site.id}`, "site");
    },
  });
}

export async function sitesPage(c: PageContext, filledForm?: FilledForm): Promise<Response> {
  const view = c.var.view;
  const { t } = view;
  const sites = await listSites(c.var.ctx, { cursor: c.req.query("cursor"), limit: 50 });
  const isFirstPage = c.req.query("cursor") === undefined;
  const health = await readHealth(c.var.ctx, LIMIT_MS);
  const [attention, fills] = await Promise.all([
    readAttention(c.var.ctx, sites.items, health),
    isFirstPage && view.may("/console/homes", "GET") ? homeFill(c.var.ctx) : [],
  ]);
  const needs = [...partsInNeed(view, health), ...fillingHomes(view, fills), ...needsOf(view, attention, sites.items)];
  const homes = [...c.var.ctx.config.homes.keys()];
  // When only `main` is bound, a site may still be in a home that was bound before.
  const showsHomes = view.hasHomes || sites.items.some(({ home }) => home !== MAIN_HOME);
  const body = (
    <>
      <FormErrors
        filled={filledForm}
        fields={{ name: t("Name"), home: t("Home"), first_chat_id: t("First chat_id") }}
      />
      <Fold
        action="/console/sites"
        label={t("Create a site")}
        open={filledForm !== undefined || sites.items.length === 0}
      >
        <section class="card">
          <Form action="/console/sites">
            <Field
              label={t("Name")}
              name="name"
              value={filledForm?.values.name}
              error={filledForm?.errors.name}
              required
              maxlength={100}
            />
            {view.hasHomes && (
              <Field
                label={t("Home")}
                name="home"
                value={filledForm?.values.home ?? MAIN_HOME}
                error={filledForm?.errors.home}
                hint={t("The database that holds the site's data. Choose the one nearest to its callers: it stays.")}
                options={homes.map((home) => [home, view.closedHomes.has(home) ? t("{0} (closed)", home) : home])}
              />
            )}
            {view.session?.identity.role === "owner" && (
              <details open={Boolean(filledForm?.values.first_chat_id)}>
                <summary>{t("Begin at another chat_id")}</summary>
                <Field
                  label={t("First chat_id")}
                  name="first_chat_id"
                  value={filledForm?.values.first_chat_id}
                  error={filledForm?.errors.first_chat_id}
                  hint={t(
                    "For callers who come from another service: above every chat_id they have. Left empty, it is 1.",
                  )}
                  inputmode="numeric"
                  maxlength={16}
                />
              </details>
            )}
            <button type="submit">{t("Create site")}</button>
          </Form>
        </section>
      </Fold>
      {sites.items.length === 0 ? (
        <p class="lead">{t("A site is one company or brand: it has its own apps, agents and sessions.")}</p>
      ) : (
        <AttentionList view={view} needs={needs} namesSites />
      )}
      {isFirstPage && <SwitchedOffParts view={view} parts={health.parts} />}
      <Table
        label={t("Sites")}
        head={[
          t("Name"),
          { label: "ID", phone: "hide" },
          ...(showsHomes ? [t("Home")] : []),
          { label: t("Status"), phone: "top" },
          t("Created"),
        ]}
        rows={sites.items.map((site) => [
          <a href={`/console/sites/${site.id}`}>
            <bdi>{isVisible(site.name) ? site.name : `(${site.id})`}</bdi>
          </a>,
          site.id,
          ...(showsHomes ? [site.home] : []),
          <StatusOf view={view} site={site} trouble={troubleOf(site, attention, health)} />,
          <Ago at={site.createdAt} />,
        ])}
        empty={
          view.may("/console/sites")
            ? t("There is no site yet. Create the first one above.")
            : t("There is no site yet.")
        }
      />
      <MoreLink path="/console" cursor={sites.nextCursor} />
    </>
  );
  return showPage(c, { title: t("Sites"), back: "/console", filled: filledForm, body });
}

/** The status of a site. An unfinished site has a button that finishes it. */
function StatusOf({ view, site, trouble }: { view: View; site: Site; trouble: SiteTrouble | undefined }) {
  return (
    <div class="buttons">
      <SiteState site={site} trouble={trouble} />
      {site.status === "creating" && (
        <Action action={`/console/sites/${site.id}/finish`} label={view.t("Finish")} about={site.name} />
      )}
    </div>
  );
}
