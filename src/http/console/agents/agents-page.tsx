import { isRefusedFor } from "../../../errors.ts";
import { type BadLine, checkAgentList, importAgents, MOST_LISTED_AGENTS } from "../../../services/agent-list.ts";
import { checkAgents, createAgents, listAgents, newAgentSchema } from "../../../services/agents.ts";
import type { Site } from "../../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { entered, formAction } from "../forms/form-action.ts";
import { doneLocation, type Filled, isRefused } from "../forms/messages.ts";
import { readForm } from "../forms/read-form.ts";
import { showPage } from "../layout.tsx";
import { Faults, Field, Fold, Form } from "../parts/form.tsx";
import { More } from "../parts/table.tsx";
import { AgentTable } from "./agent-table.tsx";
import { BadLines } from "./bad-lines.tsx";

/** A refused list is shown again in its form up to this many characters. */
const KEPT_LIST_LENGTH = 120_000;

/** Answers the two forms that add agents: one agent by its fields, or many agents by a list. */
export async function postAgents(c: PageContext, site: Site): Promise<Response> {
  const form = await readForm(c);
  const { list } = form;
  return list === undefined ? addOne(c, site, form) : addMany(c, site, form, list);
}

function addOne(c: PageContext, site: Site, form: Record<string, string>): Promise<Response> {
  const { ctx, view } = c.var;
  const { id = "", name = "" } = form;
  const values = { id, name: name.trim() };
  return formAction(c, form, {
    values,
    entered: entered(view, newAgentSchema.safeParse({ ...values, id: /^\s*\d+\s*$/.test(id) ? Number(id) : id })),
    page: (filled) => agentsPage(c, site, { filled }),
    look: (agent) => checkAgents(ctx, { site, agents: [agent] }),
    refused: (error) =>
      isRefusedFor(error, "agent_taken") ? { id: view.t("The site has an agent of this id.") } : undefined,
    list: c.req.path,
    work: async (agent) => {
      await createAgents(ctx, { site, agents: [agent] });
      return doneLocation(c, c.req.path, "agents");
    },
  });
}

function addMany(c: PageContext, site: Site, form: Record<string, string>, list: string): Promise<Response> {
  const { ctx, view } = c.var;
  const { t } = view;
  return formAction(c, form, {
    values: { list: list.slice(0, KEPT_LIST_LENGTH) },
    entered: { input: list },
    page: async ({ values, errors }) => {
      const bad = await checkAgentList(ctx, { site, list });
      const wrong = bad.length === 0 ? errors : { list: t("Lines that cannot be used: {0}.", bad.length) };
      return agentsPage(c, site, { filled: { values, errors: wrong }, bad });
    },
    refused: (error) =>
      isRefusedFor(error, "agent_list_invalid", "agent_taken") ? { list: t("Enter at least one line.") } : undefined,
    list: c.req.path,
    work: async () => {
      await importAgents(ctx, { site, list });
      return doneLocation(c, c.req.path, "agents");
    },
  });
}

/** @param again the form to show again, with the bad lines of its list */
export async function agentsPage(
  c: PageContext,
  site: Site,
  again?: { filled: Filled; bad?: BadLine[] },
): Promise<Response> {
  const view = c.var.view;
  const { t } = view;
  const path = `/console/sites/${site.id}/agents`;
  const agents = await listAgents(c.var.ctx, { site, cursor: c.req.query("cursor"), limit: 50 });
  const { values = {}, errors = {} } = again?.filled ?? {};
  const body = (
    <>
      <Faults view={view} filled={again?.filled} labels={{ name: t("Name"), id: "ID", list: t("Add many") }} />
      <Fold view={view} action={path} label={t("Add agents")} open={again !== undefined || agents.items.length === 0}>
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
  return showPage(c, { ...page, filled: again && { path, values } }, isRefused(again?.filled) ? 400 : 200);
}
