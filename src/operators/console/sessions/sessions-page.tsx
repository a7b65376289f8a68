import { customerOf } from "../../services/read-customer.ts";
import { findSessions, LOOKED_THROUGH, listSessions, SESSION_STATUSES } from "../../services/sessions.ts";
import type { Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { showPage } from "../layout.tsx";
import { Filter } from "../parts/filter.tsx";
import { Field } from "../parts/form.tsx";
import { EmptyState, NoticeBox } from "../parts/parts.tsx";
import { MoreLink } from "../parts/table.tsx";
import type { View } from "../view.ts";
import { NoSession } from "./no-session.tsx";
import {
  type Choices,
  chipsOf,
  dayBefore,
  inputOf,
  pathOf,
  queryOf,
  readChoices,
  readSessionFilter,
  type SessionFilterFields,
} from "./session-filter.ts";
import { SessionTable, statusText } from "./session-table.tsx";

export async function sessionsPage(c: PageContext, site: Site): Promise<Response> {
  const { view, ctx } = c.var;
  const { t } = view;
  const path = `/console/sites/${site.id}/sessions`;
  const chatId = (c.req.query("chat_id") ?? "").trim();
  if (/^[1-9]\d{0,14}$/.test(chatId) && (await customerOf(ctx, { site, chatId: Number(chatId) })) !== undefined)
    return c.redirect(`${path}/${chatId}`, 303);
  const filter = readSessionFilter(c);
  const cursor = c.req.query("cursor");
  const [sessions, choices] = await Promise.all([
    findSessions(ctx, { site, ...inputOf(filter, view), cursor, limit: 20 }),
    readChoices(c, site),
  ]);
  const { items, nextCursor, lookedTo } = sessions;
  const isEnd = items.length === 0 && lookedTo === null;
  // Only an empty first page says what the filters left out. Before a later page, the reader has seen or searched other sessions.
  const moreSessions = isEnd && cursor === undefined ? await otherSessions(c, site, filter) : undefined;
  const body = (
    <>
      {chatId && <NoticeBox kind="bad" title={t("This site has no session {0}", chatId)} />}
      {moreSessions?.site !== false && (
        <SessionFilter view={view} path={path} filter={filter} chatId={chatId} choices={choices} />
      )}
      {items.length > 0 && <SessionTable view={view} siteId={site.id} sessions={items} />}
      {isEnd && moreSessions === undefined && <EmptyState title={t("No further session")}>{null}</EmptyState>}
      {moreSessions && (
        <NoSession
          view={view}
          site={site}
          filter={filter}
          choices={choices}
          path={path}
          others={moreSessions}
          origin={new URL(c.req.url).origin}
        />
      )}
      {lookedTo !== null && (
        <p class="hint">
          {t(
            "{0} sessions were looked through, back to session {1}. The next page looks further back.",
            new Intl.NumberFormat(view.language).format(LOOKED_THROUGH),
            lookedTo,
          )}
        </p>
      )}
      <MoreLink path={path} query={queryOf(filter)} cursor={nextCursor} />
    </>
  );
  return showPage(c, { title: t("Sessions"), site: { ...site, tab: "sessions" }, body });
}

/** Whether there are sessions besides those that were asked for: of the site, and of the customer. */
async function otherSessions({ var: { ctx } }: PageContext, site: Site, filter: SessionFilterFields) {
  const hasSessionsOf = async (sbs: string | undefined) =>
    (await listSessions(ctx, { site, sbs, limit: 1 })).items.length > 0;
  const [siteHasSessions, customerHasSessions] = await Promise.all([
    hasSessionsOf(undefined),
    filter.sbs !== "" && hasSessionsOf(filter.sbs),
  ]);
  return { site: siteHasSessions, customer: customerHasSessions };
}

function SessionFilter(props: {
  view: View;
  path: string;
  filter: SessionFilterFields;
  chatId: string;
  choices: Choices;
}) {
  const { view, path, filter, chatId, choices } = props;
  const { t } = view;
  const any: [string, string] = ["", t("Any")];
  const statuses = SESSION_STATUSES.map((each): [string, string] => [each, statusText(view, each)]);
  const apps = choices.apps.map(({ appid, name }): [string, string] => [appid, name]);
  if (filter.appid !== "" && !choices.apps.some(({ appid }) => appid === filter.appid))
    apps.push([filter.appid, filter.appid]);
  const agents = choices.agents?.map(({ id, name }): [string, string] => [String(id), `${name} (${id})`]);
  if (agents && filter.agent !== "" && !agents.some(([id]) => id === filter.agent))
    agents.push([filter.agent, filter.agent]);
  const ranges: [string, Partial<SessionFilterFields>][] = [
    [t("Any time"), { from: "", to: "" }],
    [t("Today"), { from: dayBefore(view, 0), to: "" }],
    [t("7 days"), { from: dayBefore(view, 6), to: "" }],
  ];
  return (
    <div class="above">
      <nav class="ranges" aria-label={t("Opened")}>
        {ranges.map(([label, range]) => (
          <a
            class="chip"
            href={pathOf(path, { ...filter, ...range })}
            aria-current={filter.from === range.from && filter.to === range.to ? "true" : undefined}
          >
            {label}
          </a>
        ))}
      </nav>
      <Filter
        path={path}
        parameters={{ ...queryOf(filter), chat_id: chatId }}
        filtersInForce={chipsOf(view, path, filter, choices)}
      >
        <Field label={t("Status")} name="status" value={filter.status} options={[any, ...statuses]} />
        <Field label={t("App")} name="app" value={filter.appid} options={[any, ...apps]} />
        {agents === undefined ? (
          <Field label={t("Agent id")} name="agent" value={filter.agent} maxlength={16} inputmode="numeric" />
        ) : (
          <Field label={t("Agent")} name="agent" value={filter.agent} options={[any, ...agents]} />
        )}
        <Field label={t("Opened from")} name="from" type="date" value={filter.from} />
        <Field label={t("Opened until")} name="to" type="date" value={filter.to} />
        <Field label={t("Customer id (sbs)")} name="sbs" value={filter.sbs} maxlength={128} />
        <Field label={t("Session (chat_id)")} name="chat_id" value={chatId} maxlength={16} inputmode="numeric" />
      </Filter>
    </div>
  );
}
