import { addAgentList } from "../../../directory/add-agent-list.ts";
import { agentChangeSchema, changeAgent } from "../../../directory/change-agent.ts";
import { listAgentsOfSite } from "../../../directory/list-agents-of-site.ts";
import { type BadLine, MOST_LISTED_AGENTS } from "../../../directory/parse-agent-list.ts";
import { fieldIssues } from "../../../fields.ts";
import { type Agent, listAgents } from "../../../store/agents.ts";
import type { RequestContext } from "../../context.ts";
import type { Routes } from "../../new-hono.ts";
import { authorOf, siteOf } from "../../operator.ts";
import { notFound } from "../../problem.ts";
import { idCursor, pathId } from "../../read-input.ts";
import { show } from "../layout.tsx";
import { doneText, ruleText } from "../messages.ts";
import { Action, Badge, Field, More, Notice, Table } from "../parts.tsx";
import { readForm } from "../read-form.ts";
import type { View } from "../view.ts";

export function agentsPages(routes: Routes): void {
  routes.get("/sites/:site_id/agents", (c) => agentsPage(c));

  // One agent is a list of one line.
  routes.post("/sites/:site_id/agents", async (c) => {
    const { site, home } = await siteOf(c);
    const form = await readForm(c);
    const list = form.list ?? `${form.id ?? ""}, ${form.name ?? ""}`;
    const { added, bad } = await addAgentList(home, site.id, list, authorOf(c, "console"));
    if (added === 0) return agentsPage(c, { form, bad });
    return c.redirect(`/console/sites/${site.id}/agents?done=agents`, 303);
  });

  routes.get("/sites/:site_id/agents/:id", (c) => agentPage(c));

  routes.post("/sites/:site_id/agents/:id", async (c) => {
    const v = c.var.view;
    const { site, home } = await siteOf(c);
    const form = await readForm(c);
    const change = agentChangeSchema.safeParse(form);
    if (!change.success) {
      return agentPage(c, { name: form.name ?? "", fault: ruleText(v, fieldIssues(change.error)[0]?.message ?? "") });
    }
    const agent = await changeAgent(home, site.id, pathId(c, "id", "agent"), change.data, authorOf(c, "console"));
    if (agent === undefined) throw notFound("agent");
    return c.redirect(`/console/sites/${site.id}/agents?done=${change.data.status ?? "renamed"}`, 303);
  });
}

export function AgentTable({
  v,
  siteId,
  agents,
  actions,
}: {
  v: View;
  siteId: number;
  agents: Agent[];
  actions?: boolean;
}) {
  const { t } = v;
  const head = [t("Name"), "ID", t("Status")];
  return (
    <Table
      label={t("Agents")}
      head={actions ? [...head, t("Change")] : head}
      rows={agents.map((agent) => {
        const path = `/console/sites/${siteId}/agents/${agent.id}`;
        const normal = agent.status === "normal";
        const cells = [
          agent.name,
          agent.id,
          normal ? <Badge kind="good" label={t("Normal")} /> : <Badge kind="off" label={t("Disabled")} />,
        ];
        if (!actions) return cells;
        const change = (
          <div class="buttons">
            <a class="button plain" href={path}>
              {t("Rename")}
              <span class="unseen"> {agent.name}</span>
            </a>
            <Action action={path} label={normal ? t("Disable") : t("Enable")} about={agent.name}>
              <input type="hidden" name="status" value={normal ? "disabled" : "normal"} />
            </Action>
          </div>
        );
        return [...cells, change];
      })}
      empty={t("No agents yet. Sessions need at least one.")}
    />
  );
}

type Refused = { form: Record<string, string>; bad: BadLine[] };

async function agentsPage(c: RequestContext, refused?: Refused): Promise<Response> {
  const v = c.var.view;
  const { t } = v;
  const { site, home } = await siteOf(c);
  const path = `/console/sites/${site.id}/agents`;
  const agents = await listAgentsOfSite(home, site.id, idCursor(c.req.query("cursor"), 0), 50);
  const done = doneText(v, c.req.query("done"));
  const { form = {}, bad = [] } = refused ?? {};
  const body = (
    <>
      {done && <Notice kind="good" title={done} />}
      {refused && (
        <Notice kind="bad" title={t("No agent was added")}>
          <ul>
            {bad.length === 0 && <li>{t("There is no line.")}</li>}
            {bad.map(({ line, text, problem }) => (
              <li>
                {form.list !== undefined && `${t("Line {0}", line)} `}
                <code>{text}</code> {lineText(v, problem)}
              </li>
            ))}
          </ul>
        </Notice>
      )}
      <AgentTable v={v} siteId={site.id} agents={agents.items} actions />
      <More v={v} path={path} cursor={agents.next_cursor} />
      <div class="two">
        <section class="card">
          <h2>{t("Add an agent")}</h2>
          <form method="post" action={path}>
            <Field
              label="ID"
              name="id"
              value={form.id}
              hint={t("The number your systems know the agent by.")}
              required
              maxlength={16}
            />
            <Field label={t("Name")} name="name" value={form.name} required maxlength={100} />
            <button type="submit">{t("Add agent")}</button>
          </form>
        </section>
        <section class="card">
          <h2>{t("Add many")}</h2>
          <form method="post" action={path}>
            <Field
              label={t("One agent a line: id, name")}
              name="list"
              value={form.list}
              rows={6}
              hint={t("Up to {0}; all of them or none.", MOST_LISTED_AGENTS)}
              required
              code
            />
            <button type="submit">{t("Add all")}</button>
          </form>
        </section>
      </div>
    </>
  );
  const page = { title: t("Agents"), site: { ...site, tab: "agents" as const }, back: path, body };
  return show(c, page, refused ? 400 : 200);
}

async function agentPage(c: RequestContext, refused?: { name: string; fault: string }): Promise<Response> {
  const v = c.var.view;
  const { t } = v;
  const { site, home } = await siteOf(c);
  const id = pathId(c, "id", "agent");
  const [agent] = await listAgents(home, site.id, id - 1, 1);
  if (agent?.id !== id) throw notFound("agent");
  const path = `/console/sites/${site.id}/agents`;
  const body = (
    <section class="card">
      <form method="post" action={`${path}/${id}`}>
        <Field
          label={t("Name")}
          name="name"
          value={refused?.name ?? agent.name}
          error={refused?.fault}
          required
          maxlength={100}
        />
        <div class="buttons">
          <button type="submit">{t("Rename")}</button>
          <a class="button plain" href={path}>
            {t("Leave it")}
          </a>
        </div>
      </form>
    </section>
  );
  const title = t("Rename agent {0}", id);
  return show(c, { title, site: { ...site, tab: "agents" }, back: `${path}/${id}`, body }, refused ? 400 : 200);
}

function lineText(v: View, problem: BadLine["problem"]): string {
  const texts: Record<BadLine["problem"], string> = {
    form: v.t("Is not “id, name”."),
    id: v.t("The id must be a whole number from 1 to 9007199254740991."),
    name: v.t("The name must have 1 to 100 characters."),
    repeated: v.t("The id stands on an earlier line too."),
    taken: v.t("The site has an agent of this id."),
    too_many: v.t("A list holds {0} agents at most.", MOST_LISTED_AGENTS),
  };
  return texts[problem];
}
