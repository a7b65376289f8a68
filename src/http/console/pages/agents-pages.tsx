import { fieldIssues, isVisible } from "../../../fields.ts";
import { addAgentsToSite, newAgentSchema } from "../../../services/add-agents.ts";
import { agentChangeSchema, changeAgent } from "../../../services/change-agent.ts";
import { addAgentList, badAgentLines } from "../../../services/import-agents.ts";
import { listAgentsOfSite } from "../../../services/list-agents.ts";
import { type BadLine, MOST_LISTED_AGENTS } from "../../../services/parse-agent-list.ts";
import { type Agent, listAgents } from "../../../store/home/agents.ts";
import { notFound } from "../../admin/problem.ts";
import { idCursor, pathId } from "../../admin/read-input.ts";
import type { RequestContext } from "../../context.ts";
import type { Routes } from "../../new-hono.ts";
import { authorOf, siteOf } from "../../operator.ts";
import { consolePath, withParameter } from "../console-path.ts";
import { show } from "../layout.tsx";
import { doneLocation, doneNotice, type Filled, filled, isRefused } from "../messages.ts";
import { isDraft, once } from "../once.ts";
import { Action, Badge, Faults, Field, Fold, Form, More, Notice, Table } from "../parts.tsx";
import { readForm } from "../read-form.ts";
import type { View } from "../view.ts";

/** Bad lines that are shown, how much of each, and how much of a list comes back in its form; characters. */
const SHOWN_LINES = 50;
const SHOWN_LINE_LENGTH = 120;
const KEPT_LIST_LENGTH = 120_000;

export function agentsPages(routes: Routes): void {
  routes.get("/sites/:site_id/agents", (c) => agentsPage(c));

  routes.post("/sites/:site_id/agents", async (c) => {
    const form = await readForm(c);
    return form.list === undefined ? addOne(c, form) : addMany(c, form, form.list);
  });

  routes.get("/sites/:site_id/agents/:id", (c) => agentPage(c));

  routes.post("/sites/:site_id/agents/:id", async (c) => {
    const { site, home } = await siteOf(c);
    const form = await readForm(c);
    const { name, status } = form;
    const list = consolePath(form.back, `/console/sites/${site.id}/agents`);
    const change = agentChangeSchema.safeParse({ name, status });
    const values = { name: name ?? "", back: list };
    if (!change.success) return agentPage(c, filled(c.var.view, values, fieldIssues(change.error)));
    const id = pathId(c, "id", "agent");
    if (await isDraft(c, form)) {
      if (name !== undefined) return agentPage(c, { values, errors: {} });
      return c.redirect(await doneLocation(c, list, "draft", buttonId(id)), 303);
    }
    return once(c, form, list, async () => {
      const agent = await changeAgent(home, site.id, id, change.data, authorOf(c, "console"));
      if (agent === undefined) throw notFound("agent");
      return doneLocation(c, list, change.data.status ?? "renamed", buttonId(id));
    });
  });
}

/** Of the button that disables or enables an agent: whoever pressed it is led back to it. */
const buttonId = (id: number) => `agent-${id}`;

async function addOne(c: RequestContext, form: Record<string, string>): Promise<Response> {
  const v = c.var.view;
  const { site, home } = await siteOf(c);
  const { id = "", name = "" } = form;
  const values = { id, name: name.trim() };
  const input = newAgentSchema.safeParse({ ...values, id: /^\s*\d+\s*$/.test(id) ? Number(id) : id });
  if (!input.success) return agentsPage(c, { filled: filled(v, values, fieldIssues(input.error)) });
  const taken = { filled: { values, errors: { id: v.t("The site has an agent of this id.") } } };
  if (await isDraft(c, form)) {
    const [known] = await listAgents(home, site.id, input.data.id - 1, 1);
    return agentsPage(c, known?.id === input.data.id ? taken : { filled: { values, errors: {} } });
  }
  return once(c, form, c.req.path, async () => {
    const { added } = await addAgentsToSite(home, site.id, [input.data], authorOf(c, "console"));
    return added === undefined ? agentsPage(c, taken) : doneLocation(c, c.req.path, "agents");
  });
}

async function addMany(c: RequestContext, form: Record<string, string>, list: string): Promise<Response> {
  const { t } = c.var.view;
  const { site, home } = await siteOf(c);
  const values = { list: list.slice(0, KEPT_LIST_LENGTH) };
  const refused = (bad: BadLine[]) => {
    const errors = {
      list: bad.length === 0 ? t("Enter at least one line.") : t("Lines that cannot be used: {0}.", bad.length),
    };
    return agentsPage(c, { filled: { values, errors }, bad });
  };
  if (await isDraft(c, form)) {
    const bad = await badAgentLines(home, site.id, list);
    return bad.length > 0 ? refused(bad) : agentsPage(c, { filled: { values, errors: {} } });
  }
  return once(c, form, c.req.path, async () => {
    const { added, bad } = await addAgentList(home, site.id, list, authorOf(c, "console"));
    return added === 0 ? refused(bad) : doneLocation(c, c.req.path, "agents");
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
  // The page of the list, to come back to.
  const here = withParameter(v.here, "done");
  const head = [t("Name"), "ID", t("Status")];
  return (
    <Table
      label={t("Agents")}
      head={actions ? [...head, t("Change")] : head}
      rows={agents.map((agent) => {
        const path = `/console/sites/${siteId}/agents/${agent.id}`;
        const normal = agent.status === "normal";
        const name = isVisible(agent.name) ? agent.name : `(${agent.id})`;
        const cells = [
          <bdi>{name}</bdi>,
          agent.id,
          normal ? <Badge kind="good" label={t("Normal")} /> : <Badge kind="off" label={t("Disabled")} />,
        ];
        if (!actions) return cells;
        const change = (
          <div class="buttons">
            <a class="button plain" href={withParameter(path, "back", here)}>
              {t("Rename")}
              <span class="unseen"> {name}</span>
            </a>
            <Action
              v={v}
              action={path}
              label={normal ? t("Disable") : t("Enable")}
              about={name}
              id={buttonId(agent.id)}
            >
              <input type="hidden" name="status" value={normal ? "disabled" : "normal"} />
              <input type="hidden" name="back" value={here} />
            </Action>
          </div>
        );
        return [...cells, change];
      })}
      empty={t("No agents yet. Sessions need at least one.")}
    />
  );
}

/** @param again the one of its forms that came back, and which lines of a list are wrong */
async function agentsPage(c: RequestContext, again?: { filled: Filled; bad?: BadLine[] }): Promise<Response> {
  const v = c.var.view;
  const { t } = v;
  const { site, home } = await siteOf(c);
  const path = `/console/sites/${site.id}/agents`;
  const agents = await listAgentsOfSite(home, site.id, idCursor(c.req.query("cursor"), 0), 50);
  const done = await doneNotice(c);
  const { values = {}, errors = {} } = again?.filled ?? {};
  const body = (
    <>
      {done && <Notice {...done} />}
      <Faults v={v} filled={again?.filled} labels={{ name: t("Name"), id: "ID", list: t("Add many") }} />
      <Fold label={t("Add agents")} open={again !== undefined || agents.items.length === 0}>
        <div class="two">
          <section class="card">
            <h2>{t("Add an agent")}</h2>
            <Form v={v} action={path}>
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
            <Form v={v} action={path}>
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
              {again?.bad && <BadLines v={v} bad={again.bad} />}
              <button type="submit">{t("Add all")}</button>
            </Form>
          </section>
        </div>
      </Fold>
      <AgentTable v={v} siteId={site.id} agents={agents.items} actions />
      <More v={v} path={path} cursor={agents.next_cursor} />
    </>
  );
  const page = { title: t("Agents"), site: { ...site, tab: "agents" as const }, back: path, body };
  return show(c, { ...page, filled: again && { path, values } }, isRefused(again?.filled) ? 400 : 200);
}

function BadLines({ v, bad }: { v: View; bad: BadLine[] }) {
  const more = bad.length - SHOWN_LINES;
  return (
    <ul class="lines" tabindex={0} aria-label={v.t("Lines that cannot be used")}>
      {bad.slice(0, SHOWN_LINES).map(({ line, text, problem }) => (
        <li>
          {v.t("Line {0}", line)}{" "}
          <code>{text.length > SHOWN_LINE_LENGTH ? `${text.slice(0, SHOWN_LINE_LENGTH)}…` : text}</code>:{" "}
          {lineText(v, problem)}
        </li>
      ))}
      {more > 0 && <li>{v.t("And {0} more.", more)}</li>}
    </ul>
  );
}

async function agentPage(c: RequestContext, again?: Filled): Promise<Response> {
  const v = c.var.view;
  const { t } = v;
  const { site, home } = await siteOf(c);
  const id = pathId(c, "id", "agent");
  const [agent] = await listAgents(home, site.id, id - 1, 1);
  if (agent?.id !== id) throw notFound("agent");
  const path = `/console/sites/${site.id}/agents/${id}`;
  const list = consolePath(again?.values.back ?? c.req.query("back"), `/console/sites/${site.id}/agents`);
  const body = (
    <>
      <Faults v={v} filled={again} labels={{ name: t("Name") }} />
      <section class="card">
        <Form v={v} action={path}>
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

function lineText(v: View, problem: BadLine["problem"]): string {
  const texts: Record<BadLine["problem"], string> = {
    form: v.t("Is not “id, name”."),
    id: v.t("The id must be a whole number from 1 to 9007199254740991."),
    name: v.t(
      "The name must have 1 to 100 characters, at least one of them visible and none a control character or direction override.",
    ),
    repeated: v.t("The id stands on an earlier line too."),
    taken: v.t("The site has an agent of this id."),
    too_many: v.t("A list holds {0} agents at most.", MOST_LISTED_AGENTS),
  };
  return texts[problem];
}
