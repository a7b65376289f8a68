import { fieldIssues, isVisible } from "../../../fields.ts";
import { createSite, newSiteSchema } from "../../../services/create-site.ts";
import { listSites } from "../../../services/list-sites.ts";
import type { ConsoleRoutes, PageContext } from "../env.ts";
import { show } from "../layout.tsx";
import { doneLocation, doneNotice, type Filled, filled, isRefused } from "../messages.ts";
import { isDraft, once } from "../once.ts";
import { Faults, Field, Fold, Form } from "../parts/form.tsx";
import { Notice, Time } from "../parts/parts.tsx";
import { More, Table } from "../parts/table.tsx";
import { readForm } from "../read-form.ts";

export function sitesPages(routes: ConsoleRoutes): void {
  routes.get("/", (c) => sitesPage(c));

  // An operator may arrive here by cutting off the end of an address.
  routes.get("/sites", (c) => c.redirect("/console", 303));

  routes.post("/sites", async (c) => {
    const form = await readForm(c);
    const { name = "" } = form;
    const input = newSiteSchema.safeParse({ name });
    if (!input.success) return sitesPage(c, filled(c.var.view, { name }, fieldIssues(input.error)));
    if (await isDraft(c, form)) return sitesPage(c, { values: { name }, errors: {} });
    return once(c, form, "/console", async () => {
      const { home, first_chat_id: firstChatId } = input.data;
      const site = await createSite(c.var.ctx, { name: input.data.name, home, firstChatId });
      return doneLocation(c, `/console/sites/${site.id}`, "site");
    });
  });
}

async function sitesPage(c: PageContext, again?: Filled): Promise<Response> {
  const view = c.var.view;
  const { t } = view;
  const sites = await listSites(c.var.ctx, { cursor: c.req.query("cursor"), limit: 50 });
  const done = await doneNotice(c);
  const body = (
    <>
      {done && <Notice {...done} />}
      <p class="lead">{t("A site is one company or brand: it has its own apps, agents and sessions.")}</p>
      <Faults view={view} filled={again} labels={{ name: t("Name") }} />
      <Fold label={t("Create a site")} open={again !== undefined || sites.items.length === 0}>
        <section class="card">
          <Form view={view} action="/console/sites">
            <Field
              label={t("Name")}
              name="name"
              value={again?.values.name}
              error={again?.errors.name}
              required
              maxlength={100}
            />
            <button type="submit">{t("Create site")}</button>
          </Form>
        </section>
      </Fold>
      <Table
        label={t("Sites")}
        head={[t("Name"), "ID", t("Created")]}
        rows={sites.items.map((site) => [
          <a href={`/console/sites/${site.id}`}>
            <bdi>{isVisible(site.name) ? site.name : `(${site.id})`}</bdi>
          </a>,
          site.id,
          <Time view={view} at={site.createdAt} />,
        ])}
        empty={t("There is no site yet. Create the first one above.")}
      />
      <More view={view} path="/console" cursor={sites.nextCursor} />
    </>
  );
  const page = {
    title: t("Sites"),
    back: "/console",
    filled: again && { path: "/console/sites", values: again.values },
    body,
  };
  return show(c, page, isRefused(again) ? 400 : 200);
}
