import { fieldIssues, isVisible } from "../../../fields.ts";
import { createSite, newSiteSchema } from "../../../services/create-site.ts";
import { listAllSites } from "../../../services/list-sites.ts";
import { idCursor } from "../../admin/read-input.ts";
import type { RequestContext } from "../../context.ts";
import { configOf } from "../../context.ts";
import type { Routes } from "../../new-hono.ts";
import { authorOf } from "../../operator.ts";
import { show } from "../layout.tsx";
import { doneLocation, doneNotice, type Filled, filled, isRefused } from "../messages.ts";
import { isDraft, once } from "../once.ts";
import { Faults, Field, Fold, Form, More, Notice, Table, Time } from "../parts.tsx";
import { readForm } from "../read-form.ts";

export function sitesPages(routes: Routes): void {
  routes.get("/", (c) => sitesPage(c));

  // What is left of an address when its end is cut off.
  routes.get("/sites", (c) => c.redirect("/console", 303));

  routes.post("/sites", async (c) => {
    const form = await readForm(c);
    const { name = "" } = form;
    const input = newSiteSchema.safeParse({ name });
    if (!input.success) return sitesPage(c, filled(c.var.view, { name }, fieldIssues(input.error)));
    if (await isDraft(c, form)) return sitesPage(c, { values: { name }, errors: {} });
    return once(c, form, "/console", async () => {
      const site = await createSite(configOf(c).directory, input.data, authorOf(c, "console"));
      return doneLocation(c, `/console/sites/${site.id}`, "site");
    });
  });
}

async function sitesPage(c: RequestContext, again?: Filled): Promise<Response> {
  const v = c.var.view;
  const { t } = v;
  const sites = await listAllSites(configOf(c).directory, idCursor(c.req.query("cursor"), 0), 50);
  const done = await doneNotice(c);
  const body = (
    <>
      {done && <Notice {...done} />}
      <p class="lead">{t("A site is one company or brand: it has its own apps, agents and sessions.")}</p>
      <Faults v={v} filled={again} labels={{ name: t("Name") }} />
      <Fold label={t("Create a site")} open={again !== undefined || sites.items.length === 0}>
        <section class="card">
          <Form v={v} action="/console/sites">
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
          <Time v={v} at={site.created_at} />,
        ])}
        empty={t("There is no site yet. Create the first one above.")}
      />
      <More v={v} path="/console" cursor={sites.next_cursor} />
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
