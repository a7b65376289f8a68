import { MAIN_HOME } from "../../../core/homes.ts";
import { noteHome } from "../../http/context.ts";
import { LIMIT_MS } from "../../services/attention.ts";
import { readHealth } from "../../services/health.ts";
import { createSite, listSites, newSiteSchema } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { enteredFields, formAction } from "../forms/form-action.ts";
import { doneLocation, type FilledForm } from "../forms/messages.ts";
import { readForm, wholeNumber } from "../forms/read-form.ts";
import { showPage } from "../layout.tsx";
import { Action, type Fields, FieldsForm, Fold, FormErrors, FormFields } from "../parts/form.tsx";
import { SiteState } from "../parts/home-state.tsx";
import { List } from "../parts/list.tsx";
import { Ago } from "../parts/parts.tsx";
import { useView } from "../view.ts";
import { AttentionList, readNeeds, SwitchedOffParts, visibleName } from "./attention-list.tsx";
import { sitePath } from "./site-paths.ts";

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
      return doneLocation(c, sitePath(site), "site");
    },
  });
}

export async function sitesPage(c: PageContext, filled?: FilledForm): Promise<Response> {
  const { view, ctx } = c.var;
  const { t } = view;
  const sites = await listSites(ctx, { cursor: c.req.query("cursor"), limit: 50 });
  const health = await readHealth(ctx, LIMIT_MS);
  const { needs, troubleOf } = await readNeeds(c, sites.items, health);
  // When only `main` is bound, a site may still be in a home that was bound before.
  const showsHomes = view.hasHomes || sites.items.some(({ home }) => home !== MAIN_HOME);
  const body = (
    <>
      <NewSite homes={[...ctx.config.homes.keys()]} filled={filled} isFirst={sites.items.length === 0} />
      {sites.items.length === 0 ? (
        <p class="lead">{t("A site is one company or brand: it has its own apps, agents and sessions.")}</p>
      ) : (
        <AttentionList needs={needs} namesSites />
      )}
      {c.req.query("cursor") === undefined && <SwitchedOffParts parts={health.parts} />}
      <List
        path="/console"
        label={t("Sites")}
        head={[
          t("Name"),
          { label: "ID", phone: "hide" },
          ...(showsHomes ? [t("Home")] : []),
          { label: t("Status"), phone: "top" },
          t("Created"),
        ]}
        rows={sites.items.map((site) => [
          <a href={sitePath(site)}>{visibleName(site)}</a>,
          site.id,
          ...(showsHomes ? [site.home] : []),
          <div class="buttons">
            <SiteState site={site} trouble={troubleOf(site)} />
            {site.status === "creating" && (
              <Action action={sitePath(site, "/finish")} label={t("Finish")} about={site.name} />
            )}
          </div>,
          <Ago at={site.createdAt} />,
        ])}
        empty={
          view.may("/console/sites")
            ? t("There is no site yet. Create the first one above.")
            : t("There is no site yet.")
        }
        cursor={sites.nextCursor}
      />
    </>
  );
  return showPage(c, { title: t("Sites"), filled, body });
}

/** The form that creates a site. */
function NewSite(props: { homes: string[]; filled: FilledForm | undefined; isFirst: boolean }) {
  const { homes, filled, isFirst } = props;
  const view = useView();
  const { t } = view;
  const fields: Fields = {
    name: { label: t("Name"), required: true, maxlength: 100 },
    ...(view.hasHomes && {
      home: {
        label: t("Home"),
        value: MAIN_HOME,
        hint: t("The database that holds the site's data. Choose the one nearest to its callers: it stays."),
        options: homes.map((home): [string, string] => [
          home,
          view.closedHomes.has(home) ? t("{0} (closed)", home) : home,
        ]),
      },
    }),
  };
  const first: Fields = {
    first_chat_id: {
      label: t("First chat_id"),
      hint: t("For callers who come from another service: above every chat_id they have. Left empty, it is 1."),
      inputmode: "numeric",
      maxlength: 16,
    },
  };
  return (
    <>
      <FormErrors filled={filled} fields={{ ...fields, ...first }} />
      <Fold action="/console/sites" label={t("Create a site")} open={filled !== undefined || isFirst}>
        <section class="card">
          <FieldsForm action="/console/sites" fields={fields} filled={filled} button={t("Create site")}>
            {view.session?.identity.role === "owner" && (
              <details open={Boolean(filled?.values.first_chat_id)}>
                <summary>{t("Begin at another chat_id")}</summary>
                <FormFields fields={first} filled={filled} />
              </details>
            )}
          </FieldsForm>
        </section>
      </Fold>
    </>
  );
}
