import { isRefusedFor } from "../../../core/errors.ts";
import { type AgentList, checkAgentList, importAgents, MOST_LISTED_AGENTS } from "../../services/agent-list.ts";
import { AGENT_STATUSES, checkAgents, createAgents, newAgentSchema, searchAgents } from "../../services/agents.ts";
import type { Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { enteredFields, formAction } from "../forms/form-action.ts";
import { doneLocation, type FilledForm } from "../forms/messages.ts";
import { readForm } from "../forms/read-form.ts";
import { showPage } from "../layout.tsx";
import { Fold } from "../parts/form.tsx";
import { type FilterFields, List } from "../parts/list.tsx";
import { EmptyState } from "../parts/parts.tsx";
import { AddAgents, KEPT_LIST_LENGTH } from "./add-agents.tsx";
import { AgentMenu, agentRows, rowId } from "./agent-table.tsx";

/** @param filled the form to show again. @param list the list that was pasted into it */
export async function agentsPage(c: PageContext, site: Site, filled?: FilledForm, list?: AgentList): Promise<Response> {
  const { ctx, view, t } = c.var;
  const path = `/console/sites/${site.id}/agents`;
  const search = (c.req.query("q") ?? "").trim().slice(0, 100);
  const status = AGENT_STATUSES.find((each) => each === c.req.query("status"));
  const cursor = c.req.query("cursor");
  const agents = await searchAgents(ctx, { site, search, status, cursor, limit: 50 });
  const isFiltered = search !== "" || status !== undefined;
  const hasNone = agents.items.length === 0 && !isFiltered && cursor === undefined;
  const options: [string, string][] = [
    ["normal", t("Normal")],
    ["disabled", t("Disabled")],
  ];
  const fields: FilterFields = {
    q: { label: t("Name or ID"), value: search, type: "search", maxlength: 100 },
    status: { label: t("Status"), value: status, options },
  };
  const empty = isFiltered ? (
    <EmptyState title={t("No agent fits this search.")}>
      {agents.nextCursor === null ? (
        <a href={path}>{t("Show all agents")}</a>
      ) : (
        <span>{t("A search looks at 10,000 agents for one page: the next page goes on.")}</span>
      )}
    </EmptyState>
  ) : (
    <EmptyState title={t("No agents yet.")}>{t("Sessions need at least one. Add them above.")}</EmptyState>
  );
  const body = (
    <List
      path={path}
      add={
        <Fold action={path} label={t("Add agents")} open={filled !== undefined || hasNone}>
          <AddAgents path={path} filled={filled} list={list} />
        </Fold>
      }
      filter={hasNone ? undefined : { fields }}
      {...agentRows(view, site.id, agents.items)}
      actions={agents.items.map((agent) => <AgentMenu siteId={site.id} agent={agent} />)}
      empty={empty}
      cursor={agents.nextCursor}
    />
  );
  return showPage(c, { title: t("Agents"), site: { ...site, tab: "agents" }, filled, body });
}

/** Answers the two forms that add agents: one agent by its fields, or many agents by a list. */
export async function postAgents(c: PageContext, site: Site): Promise<Response> {
  const form = await readForm(c);
  return form.lines === undefined ? addOne(c, site, form) : addMany(c, site, form);
}

function addOne(c: PageContext, site: Site, form: Record<string, string>): Promise<Response> {
  const { ctx, view } = c.var;
  const { id = "", name = "" } = form;
  const values = { id, name: name.trim() };
  return formAction(c, form, {
    values,
    entered: enteredFields(view, newAgentSchema.safeParse({ ...values, id: /^\s*\d+\s*$/.test(id) ? Number(id) : id })),
    page: (filled) => agentsPage(c, site, filled),
    look: (agent) => checkAgents(ctx, { site, agents: [agent] }),
    refused: (error) =>
      isRefusedFor(error, "agent_taken") ? { id: view.t("The site has an agent of this id.") } : undefined,
    list: c.req.path,
    work: async (agent) => {
      await createAgents(ctx, { site, agents: [agent] });
      return doneLocation(c, c.req.path, "agent", rowId(agent.id));
    },
  });
}

function addMany(c: PageContext, site: Site, form: Record<string, string>): Promise<Response> {
  const { ctx, t } = c.var;
  const { lines = "", right = "" } = form;
  const input = { site, list: lines, right };
  return formAction(c, form, {
    values: { lines: lines.slice(0, KEPT_LIST_LENGTH), ...(right !== "" && { right }) },
    entered: { input },
    page: async ({ values, errors }) => {
      const list = await checkAgentList(ctx, input);
      const { agents, bad } = list;
      if (bad.length === 0) return agentsPage(c, site, { values, errors });
      // The lines beyond the limit were not read, so the form shows the list as it was sent.
      if (bad.some(({ problem }) => problem === "too_many")) {
        const tooMany = { lines: t("A list holds {0} agents at most.", MOST_LISTED_AGENTS) };
        return agentsPage(c, site, { values, errors: tooMany });
      }
      const linesOf = (entries: { text: string }[]) => entries.map(({ text }) => text).join("\r\n");
      const sorted = { lines: linesOf(bad).slice(0, KEPT_LIST_LENGTH), right: linesOf(agents) };
      const lineErrors = { lines: t("Lines that cannot be used: {0}.", bad.length) };
      return agentsPage(c, site, { values: sorted, errors: lineErrors }, list);
    },
    refused: (error) =>
      isRefusedFor(error, "agent_list_invalid", "agent_taken") ? { lines: t("Enter at least one line.") } : undefined,
    list: c.req.path,
    work: async (list) => {
      const count = await importAgents(ctx, list);
      return count === 1
        ? doneLocation(c, c.req.path, "agent")
        : doneLocation(c, c.req.path, "agents", undefined, count);
    },
  });
}
