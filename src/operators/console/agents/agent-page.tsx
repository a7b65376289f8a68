import type { Child } from "hono/jsx";
import { pathId } from "../../http/path-id.ts";
import { type Agent, agentChangeSchema, changeAgent, findAgent, readAgentHistory } from "../../services/agents.ts";
import { agentUnknown } from "../../services/refusals.ts";
import { AGENT_PARTS, findSessions, SESSION_STATUSES } from "../../services/sessions.ts";
import type { Site } from "../../services/sites.ts";
import { actionTexts, detailText } from "../audit/audit-texts.ts";
import { consolePath, withParameter } from "../console-path.ts";
import type { PageContext } from "../env.ts";
import { enteredFields, formAction } from "../forms/form-action.ts";
import { doneLocation, type FilledForm } from "../forms/messages.ts";
import { showPage } from "../layout.tsx";
import { Action, type Fields, FieldsForm, FormErrors } from "../parts/form.tsx";
import { type FilterFields, ListFilter, MoreLink, queryOf, Table } from "../parts/list.tsx";
import { Ago, Badge, Card, LinkLine, NameLink, Part, RowMenu, type Setting, Settings, Time } from "../parts/parts.tsx";
import { visibleName } from "../parts/unseen.tsx";
import { lookedToText, sessionColumns, statusText } from "../sessions/session-table.tsx";
import { useView, type View } from "../view.ts";

const agentPath = (siteId: number, id: number): string => `/console/sites/${siteId}/agents/${id}`;

/** The id of an agent's row. After a change the page scrolls to it and marks it. */
export const rowId = (id: number) => `agent-${id}`;

function AgentStatus({ agent: { status } }: { agent: Agent }) {
  const { t } = useView();
  return status === "normal" ? <Badge kind="good" label={t("Normal")} /> : <Badge kind="off" label={t("Disabled")} />;
}

/** The columns and rows of agents, as a list takes them. */
export const agentRows = ({ t }: View, siteId: number, agents: Agent[]) => ({
  label: t("Agents"),
  head: [t("Name"), "ID", { label: t("Status"), phone: "top" as const }],
  ids: agents.map(({ id }) => rowId(id)),
  rows: agents.map((agent) => [
    <NameLink class="clip" href={agentPath(siteId, agent.id)} name={visibleName(agent)} />,
    <code>{agent.id}</code>,
    <AgentStatus agent={agent} />,
  ]),
});

export function AgentTable({ siteId, agents, empty }: { siteId: number; agents: Agent[]; empty?: Child }) {
  const view = useView();
  const noAgents = view.t("No agents yet. Sessions need at least one.");
  return <Table {...agentRows(view, siteId, agents)} empty={empty ?? noAgents} />;
}

/** The button that disables or enables an agent, and leads to `back`. */
function StatusButton(props: { agent: Agent; path: string; back: string; about?: string }) {
  const { agent, path, back, ...about } = props;
  const { t } = useView();
  const [label, status] = agent.status === "normal" ? [t("Disable"), "disabled"] : [t("Enable"), "normal"];
  return <Action action={path} label={label} hidden={{ status, back }} {...about} />;
}

/** What can be done to an agent of the list. */
export function AgentMenu({ siteId, agent }: { siteId: number; agent: Agent }) {
  const { t, may, here: address } = useView();
  const path = agentPath(siteId, agent.id);
  const name = visibleName(agent);
  // After a change, the menu leads back to this page of the list.
  const here = withParameter(address, "done");
  return (
    <RowMenu label={t("Actions for {0}", name)}>
      <a href={`/console/sites/${siteId}/sessions?agent=${agent.id}`}>
        {t("Sessions of this agent")}
        <span class="unseen"> {name}</span>
      </a>
      {may(path) && (
        <a href={withParameter(path, "back", here)}>
          {t("Rename")}
          <span class="unseen"> {name}</span>
        </a>
      )}
      <StatusButton agent={agent} path={path} back={here} about={name} />
    </RowMenu>
  );
}

/** Answers the forms that rename, disable or enable an agent: those of the agent's page, and the menus of the list. */
export async function postAgent(c: PageContext, site: Site): Promise<Response> {
  const { name, status, back: wantedBack } = c.var.form;
  const id = pathId(c, "id", agentUnknown);
  const back = consolePath(wantedBack, `/console/sites/${site.id}/agents`);
  const row = back === agentPath(site.id, id) ? undefined : rowId(id);
  return formAction(c, {
    values: { name: name ?? "", back },
    entered: enteredFields(c.var.view, agentChangeSchema.safeParse({ name, status })),
    page: (filled) => agentPage(c, site, filled),
    draft: name === undefined ? { path: back, id: row } : undefined,
    list: back,
    work: async (change) => {
      await changeAgent(c.var.ctx, { site, id, change });
      return doneLocation(c, back, change.status ?? "renamed", row);
    },
  });
}

const SESSIONS_PER_LIST = 10;
const HISTORY_LENGTH = 20;

/** Counting the sessions where an agent is responsible stops here. */
const MOST_COUNTED = 100;

/** Shows an agent: the sessions where they are responsible, those where they take part, and what the audit log says of them. */
export async function agentPage(c: PageContext, site: Site, filled?: FilledForm): Promise<Response> {
  const { ctx, view, t } = c.var;
  const id = pathId(c, "id", agentUnknown);
  const agent = await findAgent(ctx, { site, id });
  const path = agentPath(site.id, id);
  const status = SESSION_STATUSES.find((each) => each === c.req.query("status"));
  const onlyPart = AGENT_PARTS.find((each) => each === c.req.query("part"));
  const cursor = onlyPart && c.req.query("cursor");
  const canChange = view.may(path);
  const isNormal = agent.status === "normal";
  const [history, responsible, ...lists] = await Promise.all([
    readAgentHistory(ctx, { site, id, limit: HISTORY_LENGTH }),
    canChange && isNormal
      ? findSessions(ctx, { site, agentId: id, agentPart: "responsible", limit: MOST_COUNTED })
      : undefined,
    ...AGENT_PARTS.filter((part) => onlyPart === undefined || part === onlyPart).map(async (part) => ({
      part,
      ...(await findSessions(ctx, { site, agentId: id, agentPart: part, status, cursor, limit: SESSIONS_PER_LIST })),
    })),
  ]);
  const titles = {
    responsible: t("Sessions where they are responsible"),
    participant: t("Sessions where they take part"),
  };
  const statuses = SESSION_STATUSES.map((each): [string, string] => [each, statusText(view, each)]);
  const fields: FilterFields = {
    part: { label: t("Sessions"), value: onlyPart, options: AGENT_PARTS.map((part) => [part, titles[part]]) },
    status: { label: t("Status"), value: status, options: statuses },
  };
  // Every other entry about an agent gives them a status.
  const since = history.items.find(({ action }) => action !== "agent.renamed")?.at;
  const back = consolePath(filled?.values.back ?? c.req.query("back"), path);
  const nameField: Fields = { name: { label: t("Name"), value: agent.name, required: true, maxlength: 100 } };
  const toList = back === path ? undefined : back;
  const rename = (
    <FieldsForm action={path} hidden={{ back }} fields={nameField} filled={filled} button={t("Rename")} back={toList} />
  );
  const countText = responsible && `${responsible.items.length}${responsible.nextCursor === null ? "" : "+"}`;
  const whatItLeaves = isNormal ? (
    <>
      {t(
        "A call that opens a session with a disabled agent is refused, and a call that adds them leaves them out. The sessions that they are on stay as they are.",
      )}{" "}
      <a href={`${path}?part=responsible`}>{t("Sessions where they are responsible: {0}", countText)}</a>
    </>
  ) : (
    t("No session gets this agent any more. Once they are enabled, calls may name them again.")
  );
  const change = <StatusButton agent={agent} path={path} back={path} />;
  const settings: Setting[] = [
    { title: t("Rename"), change: rename },
    { title: isNormal ? t("Disable") : t("Enable"), text: whatItLeaves, change },
  ];
  const body = (
    <>
      <FormErrors filled={filled} fields={nameField} />
      <Card
        facts={[
          ["ID", String(id), "agent-id"],
          [t("Status"), <AgentStatus agent={agent} />],
          since !== undefined && [t("Status since"), <Time at={since} />],
        ]}
      />
      <div class="above">
        <ListFilter path={path} fields={fields} />
      </div>
      {lists.map(({ part, items, nextCursor, lookedTo }, at) => (
        <Part title={titles[part]}>
          <Table
            id={at === 0 ? "list" : undefined}
            label={titles[part]}
            {...sessionColumns(view, { siteId: site.id, sessions: items })}
            empty={t("No sessions here.")}
          />
          {lookedTo !== null && <p class="hint">{lookedToText(view, lookedTo)}</p>}
          <MoreLink path={path} query={{ ...queryOf(fields), part }} cursor={nextCursor} />
        </Part>
      ))}
      {canChange && <Settings rows={isNormal ? settings : settings.reverse()} />}
      {historyPart(view, `/console/sites/${site.id}/audit?subject=${id}`, history)}
    </>
  );
  const page = { title: t("Agent {0}", id), heading: <bdi>{visibleName(agent)}</bdi>, back: path, filled, body };
  return showPage(c, { ...page, site: { ...site, tab: "agents" } });
}

/** What the audit log says of an agent. */
function historyPart(view: View, path: string, history: Awaited<ReturnType<typeof readAgentHistory>>) {
  const { t } = view;
  const { items, homesDown, searchedTo } = history;
  return (
    <Part title={t("History")}>
      <Table
        id={undefined}
        label={t("History")}
        head={[t("What"), t("Details"), t("Who"), { label: t("When"), phone: "top" }]}
        rows={items.map((entry) => [
          actionTexts(view)[entry.action],
          <bdi class="clip">{detailText(view, entry)}</bdi>,
          <bdi>{entry.who?.name ?? "–"}</bdi>,
          <Ago at={entry.at} />,
        ])}
        empty={t("The audit log has nothing about this agent.")}
      />
      {homesDown.length > 0 && <p class="hint">{t("Homes that do not answer: {0}", homesDown.join(", "))}</p>}
      {searchedTo !== null && <p class="hint">{t("Searched back to {0}.", view.time(searchedTo))}</p>}
      <LinkLine href={path} label={t("All of it in the audit log")} />
    </Part>
  );
}
