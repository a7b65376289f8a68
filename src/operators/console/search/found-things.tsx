import type { Child } from "hono/jsx";
import { isVisible } from "../../../core/fields.ts";
import { type CustomerHit, MOST_FOUND, type SearchResult, type SessionHit } from "../../services/search.ts";
import { Ago, Badge } from "../parts/parts.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { showUnseen } from "../parts/unseen.tsx";
import { useView, type View } from "../view.ts";
import { shownUrl } from "../webhooks/webhook-of.tsx";

/** The columns of hits: a head, and the cell of a hit. */
type Columns<Hit> = [head: string | Column, cell: (hit: Hit) => Child][];

/** Hits of a kind, as a table under a title. */
interface Found {
  title: Child;
  head: (string | Column)[];
  rows: Child[][];
  /** What stands above the table of a customer. */
  note?: Child;
  hasMore?: boolean | undefined;
}

const found = <Hit,>(title: Child, hits: readonly Hit[], columns: Columns<Hit>, hasMore?: boolean): Found => ({
  title,
  head: columns.map(([head]) => head),
  rows: hits.map((hit) => columns.map(([, cell]) => cell(hit))),
  hasMore,
});

/** All hits by kind. Kinds that are found by an id come first, kinds that are found by words come after them. */
export function FoundThings({ result }: { result: SearchResult }) {
  const view = useView();
  const kinds = foundKinds(view, result).filter(({ rows }) => rows.length > 0);
  return (
    <>
      {kinds.map(({ title, note, head, rows, hasMore }, index) => (
        <section class="part">
          <h2>{title}</h2>
          {note}
          <Table
            label={typeof title === "string" ? title : view.t("Sessions of this customer")}
            head={head}
            rows={rows}
            id={index === 0 ? "list" : undefined}
            empty=""
          />
          {hasMore && (
            <p class="hint">{view.t("There are more. The first {0} are shown: type more of it.", MOST_FOUND)}</p>
          )}
        </section>
      ))}
    </>
  );
}

/** A link whose text is a name. When the name is invisible, `otherwise` replaces it. */
const nameLink = (href: string, name: string, otherwise: string | number) => (
  <a class="clip" href={`/console/sites/${href}`}>
    <bdi>{isVisible(name) ? name : `(${otherwise})`}</bdi>
  </a>
);

function foundKinds(view: View, result: SearchResult): Found[] {
  const { t } = view;
  const { kindsWithMore, sites, sessionsOf } = result;
  const siteLink = (siteId: number) => nameLink(`${siteId}`, sites.get(siteId)?.name ?? "", siteId);
  const webhookLink = (siteId: number, id: string, url: string) =>
    nameLink(`${siteId}/webhooks/${id}`, shownUrl({ url }), id);
  // The column of the site is there when the hits are of several sites.
  const siteColumn: Columns<{ siteId: number }> = sites.size > 1 ? [[t("Site"), ({ siteId }) => siteLink(siteId)]] : [];
  const top = (label: string): Column => ({ label, phone: "top" });
  const status = (isOn: boolean, on: string, off: string) => (
    <Badge kind={isOn ? "good" : "off"} label={isOn ? on : off} />
  );
  const sessionTitle: Columns<SessionHit> = [
    [t("Title"), (session) => <SessionTitle session={session} />],
    ["chat_id", ({ id }) => id],
  ];
  const opened: Columns<SessionHit> = [[top(t("Opened")), ({ createdAt }) => <Ago at={createdAt} />]];
  const sessionColumns: Columns<SessionHit> = [
    ...sessionTitle,
    [t("Customer"), ({ customerName }) => <bdi class="clip">{customerName}</bdi>],
    ...siteColumn,
    ...opened,
  ];
  const customerOf = (customer: CustomerHit): Found => {
    const { siteId, externalId, name } = customer;
    const sessions = sessionsOf.filter((session) => session.siteId === siteId);
    const [newest] = sessions;
    const title = (
      <>
        {t("Customer")} <bdi>{name}</bdi>
      </>
    );
    const note = (
      <p class="line-of">
        <span>
          {t("Customer id (sbs)")}: <bdi class="long">{showUnseen(externalId)}</bdi>
        </span>
        {sites.size > 1 && siteLink(siteId)}
        {newest && view.may(`/console/sites/${siteId}/customers`, "GET") && (
          <a href={`/console/sites/${siteId}/customers?chat_id=${newest.id}`}>{t("To the customer's page")}</a>
        )}
        {kindsWithMore.has("sessionsOf") && <span>{t("The newest {0} sessions are shown.", MOST_FOUND)}</span>}
      </p>
    );
    return { ...found(title, sessions, [...sessionTitle, ...opened]), note };
  };
  return [
    found(t("Calls"), result.calls, [
      [t("Request id"), ({ siteId, requestId }) => nameLink(`${siteId}/requests/${requestId}`, requestId, requestId)],
      ...siteColumn,
    ]),
    found(t("Sites"), result.namedSites, [
      [t("Name"), ({ id }) => siteLink(id)],
      ["ID", ({ id }) => id],
    ]),
    found(t("Sessions with this chat_id"), result.sessions, sessionColumns, kindsWithMore.has("sessions")),
    // No address may hold a customer's id, so a session leads to the customer's page.
    ...result.customers.map(customerOf),
    found(
      t("Apps"),
      result.apps,
      [
        [t("Name"), ({ siteId, appid, name }) => nameLink(`${siteId}/apps/${appid}`, name, appid)],
        ["appid", ({ appid }) => <code>{appid}</code>],
        ...siteColumn,
        [top(t("Status")), ({ revokedAt }) => status(revokedAt === null, t("Active"), t("Revoked"))],
      ],
      kindsWithMore.has("apps"),
    ),
    found(
      t("Agents"),
      result.agents,
      [
        [t("Name"), ({ siteId, id, name }) => nameLink(`${siteId}/agents/${id}`, name, id)],
        ["ID", ({ id }) => id],
        ...siteColumn,
        [top(t("Status")), (agent) => status(agent.status === "normal", t("Normal"), t("Disabled"))],
      ],
      kindsWithMore.has("agents"),
    ),
    found(t("Webhooks"), result.webhooks, [
      ["URL", ({ siteId, id, url }) => webhookLink(siteId, id, url)],
      ...siteColumn,
    ]),
    // An event has a hit for each webhook of its site.
    found(
      t("Events"),
      [...Map.groupBy(result.events, ({ siteId, seq }) => `${siteId} ${seq}`).values()].flatMap(([event, ...others]) =>
        event === undefined ? [] : [{ ...event, hits: [event, ...others] }],
      ),
      [
        [t("Event"), ({ seq, type }) => <code>{`${seq} ${type}`}</code>],
        [
          t("Session"),
          ({ siteId, sessionId }) =>
            sessionId === null ? (
              "–"
            ) : (
              <a href={`/console/sites/${siteId}/sessions/${sessionId}`}>{t("Session {0}", sessionId)}</a>
            ),
        ],
        [
          t("Webhooks"),
          ({ hits }) => {
            const getting = hits.filter(({ delivery }) => delivery !== null);
            return getting.length === 0
              ? "–"
              : getting.map(({ siteId, webhookId, url }) => webhookLink(siteId, webhookId ?? "", url ?? ""));
          },
        ],
        ...siteColumn,
        [top(t("When")), ({ createdAt }) => <Ago at={createdAt} />],
      ],
    ),
    found(t("Sessions with these words in a title"), result.titles, sessionColumns, kindsWithMore.has("titles")),
  ];
}

/** A session that was found by words of the visitor's title shows that title too. */
function SessionTitle({ session: { siteId, id, title, visitorTitle } }: { session: SessionHit }) {
  return (
    <span class="stack">
      {nameLink(`${siteId}/sessions/${id}`, title, id)}
      {visitorTitle !== null && visitorTitle !== title && (
        <small class="clip">
          <bdi>{visitorTitle}</bdi>
        </small>
      )}
    </span>
  );
}
