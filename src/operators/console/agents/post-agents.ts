import { isRefusedFor } from "../../../core/errors.ts";
import { checkAgentList, importAgents, MOST_LISTED_AGENTS } from "../../services/agent-list.ts";
import { checkAgents, createAgents, newAgentSchema } from "../../services/agents.ts";
import type { Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { enteredFields, formAction } from "../forms/form-action.ts";
import { doneLocation } from "../forms/messages.ts";
import { readForm } from "../forms/read-form.ts";
import { KEPT_LIST_LENGTH } from "./add-agents.tsx";
import { rowId } from "./agent-table.tsx";
import { agentsPage } from "./agents-page.tsx";

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
    page: (filled) => agentsPage(c, site, { filled }),
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
  const { ctx, view } = c.var;
  const { t } = view;
  const { lines = "", right = "" } = form;
  const input = { site, list: lines, right };
  return formAction(c, form, {
    values: { lines: lines.slice(0, KEPT_LIST_LENGTH), ...(right !== "" && { right }) },
    entered: { input },
    page: async ({ values, errors }) => {
      const list = await checkAgentList(ctx, input);
      const { agents, bad } = list;
      if (bad.length === 0) return agentsPage(c, site, { filled: { values, errors } });
      // The lines beyond the limit were not read, so the form shows the list as it was sent.
      if (bad.some(({ problem }) => problem === "too_many")) {
        const tooMany = { lines: t("A list holds {0} agents at most.", MOST_LISTED_AGENTS) };
        return agentsPage(c, site, { filled: { values, errors: tooMany } });
      }
      const linesOf = (entries: { text: string }[]) => entries.map(({ text }) => text).join("\r\n");
      const sorted = { lines: linesOf(bad).slice(0, KEPT_LIST_LENGTH), right: linesOf(agents) };
      const lineErrors = { lines: t("Lines that cannot be used: {0}.", bad.length) };
      return agentsPage(c, site, { filled: { values: sorted, errors: lineErrors }, list });
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
