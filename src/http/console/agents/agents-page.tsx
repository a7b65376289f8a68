import { isRefusedFor } from "../../../errors.ts";
import { fieldIssues } from "../../../fields.ts";
import { type BadLine, checkAgentList, importAgents, MOST_LISTED_AGENTS } from "../../../services/agent-list.ts";
import { checkAgents, createAgents, listAgents, newAgentSchema } from "../../../services/agents.ts";
import type { Site } from "../../../services/sites.ts";
import { siteOf } from "../../operator/context.ts";
import type { ConsoleRoutes, PageContext } from "../env.ts";
import { doneLocation, type Filled, filled, isRefused } from "../forms/messages.ts";
import { isDraft, once } from "../forms/once.ts";
import { readForm } from "../forms/read-form.ts";
import { show } from "../layout.tsx";
import { Faults, Field, Fold, Form } from "../parts/form.tsx";
import { More } from "../parts/table.tsx";
import { AgentTable } from "./agent-table.tsx";
import { BadLines } from "./bad-lines.tsx";

/** How many characters of a refused list are shown again in its form. */
const KEPT_LIST_LENGTH = 120_000;

export function agentsPages(routes: ConsoleRoutes): void {
  routes.get("/sites/:site_id/agents", (c) => agentsPage(c));

  routes.post("/sites/:site_id/agents", async (c) => {
    const site = await siteOf(c);
    const form = await readForm(c);
    return form.list === undefined ? addOne(c, site, form) : addMany(c, site, form, form.list);
  });
}

async function addOne(c: PageContext, site: Site, form: Record<string, string>): Promise<Response> {
  const { ctx, view } = c.var;
  const { id = "", name = "" } = form;
  const values = { id, name: name.trim() };
  const input = newAgentSchema.safeParse({ ...values, id: /^\s*\d+\s*$/.test(id) ? Number(id) : id });
  if (!input.success) return agentsPage(c, { filled: filled(view, values, fieldIssues(input.error)) });
  const agents = [input.data];
  const sayTaken = (error: unknown) => {
    if (!isRefusedFor(error, "agent_taken")) throw error;
    return agentsPage(c, { filled: { values, errors: { id: view.t("The site has an agent of this id.") } } });
  };
  if (await isDraft(c, form)) {
    try {
      await checkAgents(ctx, { site, agents });
    } catch (error) {
      return sayTaken(error);
    }
    return agentsPage(c, { filled: { values, errors: {} } });
  }
  return once(c, form, c.req.path, async () => {
    try {
      await createAgents(ctx, { site, agents });
    } catch (error) {
      return sayTaken(error);
    }
    return doneLocation(c, c.req.path, "agents");
  });
}

async function addMany(c: PageContext, site: Site, form: Record<string, string>, list: string): Promise<Response> {
  const { ctx, view } = c.var;
  const { t } = view;
  const values = { list: list.slice(0, KEPT_LIST_LENGTH) };
  const sayRefused = (bad: BadLine[]) => {
    const errors = {
      list: bad.length === 0 ? t("Enter at least one line.") : t("Lines that cannot be used: {0}.", bad.length),
    };
    return agentsPage(c, { filled: { values, errors }, bad });
  };
  if (await isDraft(c, form)) {
    const bad = await checkAgentList(ctx, { site, list });
    return bad.length > 0 ? sayRefused(bad) : agentsPage(c, { filled: { values, errors: {} } });
  }
  return once(c, form, c.req.path, async () => {
    try {
      await importAgents(ctx, { site, list });
    } catch (error) {
      if (!isRefusedFor(error, "agent_list_invalid", "agent_taken")) throw error;
      return sayRefused(await checkAgentList(ctx, { site, list }));
    }
    return doneLocation(c, c.req.path, "agents");
  });
}

/** @param again the form to show again, and the bad lines of its list */
async function agentsPage(c: PageContext, again?: { filled: Filled; bad?: BadLine[] }): Promise<Response> {
  const view = c.var.view;
  const { t } = view;
  const site = await siteOf(c);
  const path = `/console/sites/${site.id}/agents`;
  const agents = await listAgents(c.var.ctx, { site, cursor: c.req.query("cursor"), limit: 50 });
  const { values = {}, errors = {} } = again?.filled ?? {};
  const body = (
    <>
      <Faults view={view} filled={again?.filled} labels={{ name: t("Name"), id: "ID", list: t("Add many") }} />
      <Fold label={t("Add agents")} open={again !== undefined || agents.items.length === 0}>
        <div class="two">
          <section class="card">
            <h2>{t("Add an agent")}</h2>
            <Form view={view} action={path}>
              <Field
                label="ID"
                name="id"
                value={values.id}
                error={errors.id}
                hint={t("The number your systems know the agent by.")}
                required
                maxlength={16}
              />
              <Field label={t("Name")} name="name" value={values.name} error={errors.name} required maxlength={100} />
              <button type="submit">{t("Add agent")}</button>
            </Form>
          </section>
          <section class="card">
            <h2>{t("Add many")}</h2>
            <Form view={view} action={path}>
              <Field
                label={t("One agent a line: id, name")}
                name="list"
                value={values.list}
                error={errors.list}
                rows={6}
                hint={t("Up to {0}; all of them or none.", MOST_LISTED_AGENTS)}
                required
                code
              />
              {values.list?.length === KEPT_LIST_LENGTH && (
                <p class="error">{t("The list is too long to come back whole: its end is cut off here.")}</p>
              )}
              {again?.bad && <BadLines view={view} bad={again.bad} />}
              <button type="submit">{t("Add all")}</button>
            </Form>
          </section>
        </div>
      </Fold>
      <AgentTable view={view} siteId={site.id} agents={agents.items} actions />
      <More view={view} path={path} cursor={agents.nextCursor} />
    </>
  );
  const page = { title: t("Agents"), site: { ...site, tab: "agents" as const }, back: path, body };
  return show(c, { ...page, filled: again && { path, values } }, isRefused(again?.filled) ? 400 : 200);
}
