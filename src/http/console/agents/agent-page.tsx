import { fieldIssues } from "../../../fields.ts";
import { agentChangeSchema, changeAgent, findAgent } from "../../../services/agents.ts";
import { agentUnknown } from "../../../services/refusals.ts";
import { siteOf } from "../../operator/context.ts";
import { pathId } from "../../path-id.ts";
import { consolePath } from "../console-path.ts";
import type { ConsoleRoutes, PageContext } from "../env.ts";
import { doneLocation, type Filled, filled, isRefused } from "../forms/messages.ts";
import { isDraft, once } from "../forms/once.ts";
import { readForm } from "../forms/read-form.ts";
import { show } from "../layout.tsx";
import { Faults, Field, Form } from "../parts/form.tsx";
import { buttonId } from "./agent-table.tsx";

export function agentPages(routes: ConsoleRoutes): void {
  routes.get("/sites/:site_id/agents/:id", (c) => agentPage(c));

  routes.post("/sites/:site_id/agents/:id", async (c) => {
    const site = await siteOf(c);
    const form = await readForm(c);
    const { name, status } = form;
    const list = consolePath(form.back, `/console/sites/${site.id}/agents`);
    const change = agentChangeSchema.safeParse({ name, status });
    const values = { name: name ?? "", back: list };
    if (!change.success) return agentPage(c, filled(c.var.view, values, fieldIssues(change.error)));
    const id = pathId(c, "id", agentUnknown);
    if (await isDraft(c, form)) {
      if (name !== undefined) return agentPage(c, { values, errors: {} });
      return c.redirect(await doneLocation(c, list, "draft", buttonId(id)), 303);
    }
    return once(c, form, list, async () => {
      await changeAgent(c.var.ctx, { site, id, change: change.data });
      return doneLocation(c, list, change.data.status ?? "renamed", buttonId(id));
    });
  });
}

async function agentPage(c: PageContext, again?: Filled): Promise<Response> {
  const view = c.var.view;
  const { t } = view;
  const site = await siteOf(c);
  const id = pathId(c, "id", agentUnknown);
  const agent = await findAgent(c.var.ctx, { site, id });
  const path = `/console/sites/${site.id}/agents/${id}`;
  const list = consolePath(again?.values.back ?? c.req.query("back"), `/console/sites/${site.id}/agents`);
  const body = (
    <>
      <Faults view={view} filled={again} labels={{ name: t("Name") }} />
      <section class="card">
        <Form view={view} action={path}>
          <input type="hidden" name="back" value={list} />
          <Field
            label={t("Name")}
            name="name"
            value={again?.values.name ?? agent.name}
            error={again?.errors.name ?? again?.errors.status ?? again?.errors[""]}
            required
            maxlength={100}
          />
          <div class="buttons">
            <button type="submit">{t("Rename")}</button>
            <a class="button plain" href={list}>
              {t("Cancel")}
            </a>
          </div>
        </Form>
      </section>
    </>
  );
  const page = { title: t("Rename agent {0}", id), site: { ...site, tab: "agents" as const }, back: path, body };
  return show(c, { ...page, filled: again && { path, values: again.values } }, isRefused(again) ? 400 : 200);
}
