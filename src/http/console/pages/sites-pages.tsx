import { createSite, newSiteSchema } from "../../../directory/create-site.ts";
import { listAllSites } from "../../../directory/list-all-sites.ts";
import { settingsOf } from "../../../env.ts";
import { fieldIssues } from "../../../fields.ts";
import type { RequestContext } from "../../context.ts";
import type { Routes } from "../../new-hono.ts";
import { authorOf } from "../../operator.ts";
import { idCursor } from "../../read-input.ts";
import { show } from "../layout.tsx";
import { type Filled, filled, UNFILLED } from "../messages.ts";
import { Field, More, Table, Time } from "../parts.tsx";
import { readForm } from "../read-form.ts";

export function sitesPages(routes: Routes): void {
  routes.get("/", (c) => sitesPage(c, UNFILLED));

  routes.post("/sites", async (c) => {
    const { name = "" } = await readForm(c);
    const input = newSiteSchema.safeParse({ name });
    if (!input.success) return sitesPage(c, filled(c.var.view, { name }, fieldIssues(input.error)));
    const site = await createSite(settingsOf(c.env).directory, input.data, authorOf(c, "console"));
    return c.redirect(`/console/sites/${site.id}?done=site`, 303);
  });
}

async function sitesPage(c: RequestContext, { values, errors }: Filled): Promise<Response> {
  const v = c.var.view;
  const { t } = v;
  const sites = await listAllSites(settingsOf(c.env).directory, idCursor(c.req.query("cursor"), 0), 50);
  const body = (
    <>
      <p class="lead">{t("A site is one company or brand: it has its own apps, agents and sessions.")}</p>
      <Table
        label={t("Sites")}
        head={[t("Name"), "ID", t("Created")]}
        rows={sites.items.map((site) => [
          <a href={`/console/sites/${site.id}`}>{site.name}</a>,
          site.id,
          <Time v={v} at={site.created_at} />,
        ])}
        empty={t("There is no site yet. Create the first one below.")}
      />
      <More v={v} path="/console" cursor={sites.next_cursor} />
      <section class="card">
        <h2>{t("Create a site")}</h2>
        <form method="post" action="/console/sites">
          <Field label={t("Name")} name="name" value={values.name} error={errors.name} required maxlength={100} />
          <button type="submit">{t("Create site")}</button>
        </form>
      </section>
    </>
  );
  const page = { title: t("Sites"), back: "/console", body };
  return show(c, page, Object.keys(errors).length > 0 ? 400 : 200);
}
