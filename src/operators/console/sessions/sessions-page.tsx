import { customerOf } from "../../services/read-customer.ts";
import { findSessions, LOOKED_THROUGH, listSessions, SESSION_STATUSES } from "../../services/sessions.ts";
import type { Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { showPage } from "../layout.tsx";
import { Filter } from "../parts/filter.tsx";
import { Field } from "../parts/form.tsx";
import { EmptyState, NoticeBox } from "../parts/parts.tsx";
import { More } from "../parts/table.tsx";
import type { View } from "../view.ts";
import { NoSession } from "./no-session.tsx";
import {
  type Choices,
  chipsOf,
  dayBefore,
  inputOf,
  pathOf,
  queryOf,
  readAsked,
  readChoices,
  type SessionsAsked,
} from "./session-filter.ts";
import { SessionTable, statusText } from "./session-table.tsx";

export async function sessionsPage(c: PageContext, site: Site): Promise<Response> {
  const { view, ctx } = c.var;
  const { t } = view;
  const path = `/console/sites/${site.id}/sessions`;
  const chatId = (c.req.query("chat_id") ?? "").trim();
  if (/^[1-9]\d{0,14}$/.test(chatId) && (await customerOf(ctx, { site, chatId: Number(chatId) })) !== undefined)
    return c.redirect(`${path}/${chatId}`, 303);
  const asked = readAsked(c);
  const cursor = c.req.query("cursor");
  const [sessions, choices] = await Promise.all([
    findSessions(ctx, { site, ...inputOf(asked, view), cursor, limit: 20 }),
    readChoices(c, site),
  ]);
  const { items, nextCursor, lookedTo } = sessions;
  const isEnd = items.length === 0 && lookedTo === null;
  // Only an empty first page says what the filters left out. Before a later page, the reader has seen or searched other sessions.
  const others = isEnd && cursor === undefined ? await otherSessions(c, site, asked) : undefined;
  const body = (
    <>
      {chatId && <NoticeBox kind="bad" title={t("This site has no session {0}", chatId)} />}
      {others?.site !== false && (
        <SessionFilter view={view} path={path} asked={asked} chatId={chatId} choices={choices} />
      )}
      {items.length > 0 && <SessionTable view={view} siteId={site.id} sessions={items} />}
      {isEnd && others === undefined && <EmptyState title={t("No further session")}>{null}</EmptyState>}
      {others && (
        <NoSession
          view={view}
          site={site}
          asked={asked}
          choices={choices}
          path={path}
          others={others}
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
      <More view={view} path={path} query={queryOf(asked)} cursor={nextCursor} />
    </>
  );
  return showPage(c, { title: t("Sessions"), site: { ...site, tab: "sessions" }, body });
}

/** Whether there are sessions besides those that were asked for: of the site, and of the customer. */
async function otherSessions({ var: { ctx } }: PageContext, site: Site, asked: SessionsAsked) {
  const has = async (sbs: string | undefined) => (await listSessions(ctx, { site, sbs, limit: 1 })).items.length > 0;
  const [ofSite, ofCustomer] = await Promise.all([has(undefined), asked.sbs !== "" && has(asked.sbs)]);
  return { site: ofSite, customer: ofCustomer };
}

function SessionFilter(props: { view: View; path: string; asked: SessionsAsked; chatId: string; choices: Choices }) {
  const { view, path, asked, chatId, choices } = props;
  const { t } = view;
  const any: [string, string] = ["", t("Any")];
  const statuses = SESSION_STATUSES.map((each): [string, string] => [each, statusText(view, each)]);
  const apps = choices.apps.map(({ appid, name }): [string, string] => [appid, name]);
  if (asked.appid !== "" && !choices.apps.some(({ appid }) => appid === asked.appid))
    apps.push([asked.appid, asked.appid]);
  const agents = choices.agents?.map(({ id, name }): [string, string] => [String(id), `${name} (${id})`]);
  if (agents && asked.agent !== "" && !agents.some(([id]) => id === asked.agent))
    agents.push([asked.agent, asked.agent]);
  const ranges: [string, Partial<SessionsAsked>][] = [
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
            href={pathOf(path, { ...asked, ...range })}
            aria-current={asked.from === range.from && asked.to === range.to ? "true" : undefined}
          >
            {label}
          </a>
        ))}
      </nav>
      <Filter
        view={view}
        path={path}
        asked={{ ...queryOf(asked), chat_id: chatId }}
        on={chipsOf(view, path, asked, choices)}
      >
        <Field label={t("Status")} name="status" value={asked.status} options={[any, ...statuses]} />
        <Field label={t("App")} name="app" value={asked.appid} options={[any, ...apps]} />
        {agents === undefined ? (
          <Field label={t("Agent id")} name="agent" value={asked.agent} maxlength={16} inputmode="numeric" />
        ) : (
          <Field label={t("Agent")} name="agent" value={asked.agent} options={[any, ...agents]} />
        )}
        <Field label={t("Opened from")} name="from" type="date" value={asked.from} />
        <Field label={t("Opened until")} name="to" type="date" value={asked.to} />
        <Field label={t("Customer id (sbs)")} name="sbs" value={asked.sbs} maxlength={128} />
        <Field label={t("Session (chat_id)")} name="chat_id" value={chatId} maxlength={16} inputmode="numeric" />
      </Filter>
    </div>
  );
}
