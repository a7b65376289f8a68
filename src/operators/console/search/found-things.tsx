import type { Child } from "hono/jsx";
import { isVisible } from "../../../core/fields.ts";
import { type EventHit, MOST_FOUND, type SearchResult, type SessionHit } from "../../services/search.ts";
import { type Column, Table } from "../parts/list.tsx";
import { Ago, Badge, NameLink, Part } from "../parts/parts.tsx";
import { showUnseen } from "../parts/unseen.tsx";
import { useView, type View } from "../view.ts";
import { shownUrl } from "../webhooks/webhook-of.tsx";

/** The columns of hits: a head, and the cell of a hit. */
type Columns<Hit> = [head: string | Column, cell: (hit: Hit) => Child][];

/** The kinds of hits that have one table each. */
type Kind = "calls" | "namedSites" | "sessions" | "apps" | "agents" | "webhooks" | "events" | "titles";

const tableOf = <Hit,>(hits: readonly Hit[], columns: Columns<Hit>) => ({
  head: columns.map(([head]) => head),
  rows: hits.map((hit) => columns.map(([, cell]) => cell(hit))),
});

/** All hits by kind, each kind as a table under a title. */
export function FoundThings({ result }: { result: SearchResult }) {
  const view = useView();
  const kinds = foundKinds(view, result).filter(({ rows }) => rows.length > 0);
  return (
    <>
      {kinds.map(({ title, label, note, hasMore, ...table }, index) => (
        <Part title={title}>
          {note}
          <Table label={label} {...table} id={index === 0 ? "list" : undefined} empty="" />
          {hasMore && (
            <p class="hint">{view.t("There are more. The first {0} are shown: type more of it.", MOST_FOUND)}</p>
          )}
        </Part>
      ))}
    </>
  );
}

/** A link whose text is a name. When the name is invisible, `otherwise` replaces it. */
const nameLink = (href: string, name: string, otherwise: string | number) => (
  <NameLink class="clip" href={`/console/sites/${href}`} name={isVisible(name) ? name : `(${otherwise})`} />
);

const isSameEvent = (one: EventHit, other: EventHit) => one.siteId === other.siteId && one.seq === other.seq;

/** The kinds that are found by an id come first, those that are found by words after them. */
function foundKinds(view: View, { kindsWithMore, sites, sessionsOf, ...result }: SearchResult) {
  const { t } = view;
  // An event has a hit for each webhook of its site.
  const events = result.events.filter((event, i, all) => all.findIndex((each) => isSameEvent(each, event)) === i);
  const hits = { ...result, events };
  const found = <K extends Kind>(title: string, kind: K, columns: Columns<SearchResult[K][number]>) => ({
    title: title as Child,
    label: title,
    note: undefined as Child,
    hasMore: kindsWithMore.has(kind),
    ...tableOf<SearchResult[K][number]>(hits[kind], columns),
  });
  const siteLink = (siteId: number) => nameLink(`${siteId}`, sites.get(siteId)?.name ?? "", siteId);
  const webhookLink = (siteId: number, id: string, url: string) =>
    nameLink(`${siteId}/webhooks/${id}`, shownUrl({ url }), id);
  const receivers = (event: EventHit) => {
    const receiving = result.events.filter((hit) => isSameEvent(hit, event) && hit.delivery !== null);
    if (receiving.length === 0) return "–";
    return receiving.map(({ siteId, webhookId, url }) => webhookLink(siteId, webhookId ?? "", url ?? ""));
  };
  // The column of the site is there when the hits are of several sites.
  const siteColumn: Columns<{ siteId: number }> = sites.size > 1 ? [[t("Site"), ({ siteId }) => siteLink(siteId)]] : [];
  const top = (label: string): Column => ({ label, phone: "top" });
  const status = (isOn: boolean, on: string, off: string) => (
    <Badge kind={isOn ? "good" : "off"} label={isOn ? on : off} />
  );
  const columnsOfOne: Columns<SessionHit> = [
    [t("Title"), sessionCell],
    ["chat_id", ({ id }) => id],
    [top(t("Opened")), ({ createdAt }) => <Ago at={createdAt} />],
  ];
  const customer: Columns<SessionHit>[0] = [t("Customer"), ({ customerName: name }) => <bdi class="clip">{name}</bdi>];
  const sessionColumns = columnsOfOne.toSpliced(2, 0, customer, ...siteColumn);
  // No address may hold a customer's id, so a session leads to the customer's page.
  const customers = result.customers.map(({ siteId, externalId, name }) => {
    const sessions = sessionsOf.filter((session) => session.siteId === siteId);
    const path = `/console/sites/${siteId}/customers`;
    return {
      title: (
        <>
          {t("Customer")} <bdi>{name}</bdi>
        </>
      ),
      label: t("Sessions of this customer"),
      note: (
        <p class="line-of">
          <span>
            {t("Customer id (sbs)")}: <bdi class="long">{showUnseen(externalId)}</bdi>
          </span>
          {sites.size > 1 && siteLink(siteId)}
          {sessions[0] && view.may(path, "GET") && (
            <a href={`${path}?chat_id=${sessions[0].id}`}>{t("To the customer's page")}</a>
          )}
          {kindsWithMore.has("sessionsOf") && <span>{t("The newest {0} sessions are shown.", MOST_FOUND)}</span>}
        </p>
      ),
      hasMore: false,
      ...tableOf(sessions, columnsOfOne),
    };
  });
  return [
    found(t("Calls"), "calls", [
      [t("Request id"), ({ siteId, requestId }) => nameLink(`${siteId}/requests/${requestId}`, requestId, requestId)],
      ...siteColumn,
    ]),
    found(t("Sites"), "namedSites", [
      [t("Name"), ({ id }) => siteLink(id)],
      ["ID", ({ id }) => id],
    ]),
    found(t("Sessions with this chat_id"), "sessions", sessionColumns),
    ...customers,
    found(t("Apps"), "apps", [
      [t("Name"), ({ siteId, appid, name }) => nameLink(`${siteId}/apps/${appid}`, name, appid)],
      ["appid", ({ appid }) => <code>{appid}</code>],
      ...siteColumn,
      [top(t("Status")), ({ revokedAt }) => status(revokedAt === null, t("Active"), t("Revoked"))],
    ]),
    found(t("Agents"), "agents", [
      [t("Name"), ({ siteId, id, name }) => nameLink(`${siteId}/agents/${id}`, name, id)],
      ["ID", ({ id }) => id],
      ...siteColumn,
      [top(t("Status")), (agent) => status(agent.status === "normal", t("Normal"), t("Disabled"))],
    ]),
    found(t("Webhooks"), "webhooks", [["URL", ({ siteId, id, url }) => webhookLink(siteId, id, url)], ...siteColumn]),
    found(t("Events"), "events", [
      [t("Event"), ({ seq, type }) => <code>{`${seq} ${type}`}</code>],
      [
        t("Session"),
        ({ siteId, sessionId: id }) =>
          id === null ? "–" : <a href={`/console/sites/${siteId}/sessions/${id}`}>{t("Session {0}", id)}</a>,
      ],
      [t("Webhooks"), receivers],
      ...siteColumn,
      [top(t("When")), ({ createdAt }) => <Ago at={createdAt} />],
    ]),
    found(t("Sessions with these words in a title"), "titles", sessionColumns),
  ];
}

/** A session that was found by words of the visitor's title shows that title too. */
const sessionCell = ({ siteId, id, title, visitorTitle }: SessionHit) => (
  <span class="stack">
    {nameLink(`${siteId}/sessions/${id}`, title, id)}
    {visitorTitle !== null && visitorTitle !== title && (
      <small class="clip">
        <bdi>{visitorTitle}</bdi>
      </small>
    )}
  </span>
);
