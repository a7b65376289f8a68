import type { AgentList } from "../../services/agent-list.ts";
import { searchAgents } from "../../services/agents.ts";
import type { Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import type { FilledForm } from "../forms/messages.ts";
import { showPage } from "../layout.tsx";
import { Filter, filteredPath } from "../parts/filter.tsx";
import { Field, Fold } from "../parts/form.tsx";
import { EmptyState } from "../parts/parts.tsx";
import { MoreLink } from "../parts/table.tsx";
import { AddAgents } from "./add-agents.tsx";
import { AgentTable } from "./agent-table.tsx";

const STATUSES = ["normal", "disabled"] as const;

/** @param filledForm the form to show again, with the list that was pasted */
export async function agentsPage(
  c: PageContext,
  site: Site,
  filledForm?: { filled: FilledForm; list?: AgentList },
): Promise<Response> {
  const view = c.var.view;
  const { t } = view;
  const path = `/console/sites/${site.id}/agents`;
  const search = (c.req.query("q") ?? "").trim().slice(0, 100);
  const status = STATUSES.find((each) => each === c.req.query("status"));
  const query = { q: search, status };
  const agents = await searchAgents(c.var.ctx, { site, search, status, cursor: c.req.query("cursor"), limit: 50 });
  const statuses: [string, string][] = [
    ["normal", t("Normal")],
    ["disabled", t("Disabled")],
  ];
  const on = [
    { name: "q", label: t("Name or ID"), value: search },
    { name: "status", label: t("Status"), value: statuses.find(([value]) => value === status)?.[1] ?? "" },
  ];
  const isFiltered = search !== "" || status !== undefined;
  const hasNone = agents.items.length === 0 && !isFiltered && c.req.query("cursor") === undefined;
  const body = (
    <>
      <div class="above">
        <Fold action={path} label={t("Add agents")} open={filledForm !== undefined || hasNone}>
          <AddAgents view={view} path={path} filled={filledForm?.filled} list={filledForm?.list} />
        </Fold>
        {!hasNone && (
          <Filter
            path={path}
            parameters={query}
            filtersInForce={on
              .filter(({ value }) => value !== "")
              .map(({ name, ...each }) => ({ ...each, without: filteredPath(path, query, name) }))}
          >
            <Field label={t("Name or ID")} name="q" value={search} type="search" maxlength={100} />
            <Field label={t("Status")} name="status" value={status} options={[["", t("All")], ...statuses]} />
          </Filter>
        )}
      </div>
      <AgentTable
        view={view}
        siteId={site.id}
        agents={agents.items}
        actions
        empty={<NoAgents view={view} path={path} isFiltered={isFiltered} hasMore={agents.nextCursor !== null} />}
      />
      <MoreLink path={path} query={query} cursor={agents.nextCursor} />
    </>
  );
  const page = { title: t("Agents"), site: { ...site, tab: "agents" as const }, back: path, body };
  return showPage(c, { ...page, filled: filledForm?.filled });
}

function NoAgents(props: { view: PageContext["var"]["view"]; path: string; isFiltered: boolean; hasMore: boolean }) {
  const { view, path, isFiltered, hasMore } = props;
  const { t } = view;
  if (!isFiltered)
    return <EmptyState title={t("No agents yet.")}>{t("Sessions need at least one. Add them above.")}</EmptyState>;
  return (
    <EmptyState title={t("No agent fits this search.")}>
      {hasMore ? (
        <span>{t("A search looks at 10,000 agents for one page: the next page goes on.")}</span>
      ) : (
        <a href={path}>{t("Show all agents")}</a>
      )}
    </EmptyState>
  );
}
