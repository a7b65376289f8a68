import type { Child } from "hono/jsx";
import { MOST_FOUND, type SessionHit } from "../../services/search.ts";
import { callPath } from "../journal/refusal-table.tsx";
import { Ago, Badge } from "../parts/parts.tsx";
import { Table } from "../parts/table.tsx";
import { showUnseen } from "../parts/unseen.tsx";
import { foundEvents } from "./found-events.tsx";
import {
  type FindingsContext,
  type FoundKind,
  NameLink,
  SiteLink,
  siteCell,
  siteHead,
  WebhookLink,
} from "./found-parts.tsx";

/** All findings by kind. Kinds that are found by an id come first, kinds that are found by words come after them. */
export function FoundThings(finding: FindingsContext) {
  const { view } = finding;
  const kinds = [
    foundCalls(finding),
    foundSites(finding),
    foundSessions(finding),
    ...foundCustomers(finding),
    foundApps(finding),
    foundAgents(finding),
    foundWebhooks(finding),
    foundEvents(finding),
    foundTitles(finding),
  ].filter(({ rows }) => rows.length > 0);
  return (
    <>
      {kinds.map(({ title, note, hasMore, ...table }, index) => (
        <section class="part">
          <h2>{title}</h2>
          {note}
          <Table {...table} id={index === 0 ? "list" : undefined} empty="" />
          {hasMore && (
            <p class="hint">{view.t("There are more. The first {0} are shown: type more of it.", MOST_FOUND)}</p>
          )}
        </section>
      ))}
    </>
  );
}

function foundCalls(finding: FindingsContext): FoundKind {
  const { t } = finding.view;
  return {
    title: t("Calls"),
    label: t("Calls"),
    head: [t("Request id"), ...siteHead(finding)],
    rows: finding.result.calls.map(({ siteId, requestId }) => [
      <a href={callPath(siteId, requestId)}>
        <code>{requestId}</code>
      </a>,
      ...siteCell(finding, siteId),
    ]),
  };
}

function foundSites({ view: { t }, result }: FindingsContext): FoundKind {
  return {
    title: t("Sites"),
    label: t("Sites"),
    head: [t("Name"), "ID"],
    rows: result.namedSites.map(({ id }) => [<SiteLink result={result} siteId={id} />, id]),
  };
}

/** Rows of sessions. A session that was found by words of the visitor's title shows that title too. */
function sessionRows(finding: FindingsContext, sessions: SessionHit[], of: "all" | "oneCustomer" = "all") {
  const { view } = finding;
  const { t } = view;
  const isOfAll = of === "all";
  const head: FoundKind["head"] = [
    t("Title"),
    "chat_id",
    ...(isOfAll ? [t("Customer"), ...siteHead(finding)] : []),
    { label: t("Created"), phone: "top" },
  ];
  const rows = sessions.map(({ siteId, id, title, visitorTitle, customerName, createdAt }): Child[] => [
    <>
      <NameLink href={`/console/sites/${siteId}/sessions/${id}`} name={title} otherwise={id} />
      {visitorTitle !== null && visitorTitle !== title && (
        <small class="clip other-title">
          <bdi>{visitorTitle}</bdi>
        </small>
      )}
    </>,
    id,
    ...(isOfAll
      ? [
          <span class="clip">
            <bdi>{customerName}</bdi>
          </span>,
          ...siteCell(finding, siteId),
        ]
      : []),
    <Ago at={createdAt} />,
  ]);
  return { head, rows };
}

function foundSessions(finding: FindingsContext): FoundKind {
  const { result } = finding;
  const title = finding.view.t("Sessions with this chat_id");
  return {
    title,
    label: title,
    ...sessionRows(finding, result.sessions),
    hasMore: result.kindsWithMore.has("sessions"),
  };
}

function foundTitles(finding: FindingsContext): FoundKind {
  const { result } = finding;
  const title = finding.view.t("Sessions with these words in a title");
  return { title, label: title, ...sessionRows(finding, result.titles), hasMore: result.kindsWithMore.has("titles") };
}

/** Each customer with their newest sessions. A session leads to the customer's page, because no address may hold a customer's id. */
function foundCustomers(finding: FindingsContext): FoundKind[] {
  const { view, result } = finding;
  const { t } = view;
  return result.customers.map(({ siteId, externalId, name }) => {
    const sessions = result.sessionsOf.filter((session) => session.siteId === siteId);
    const path = `/console/sites/${siteId}/customers`;
    const [newest] = sessions;
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
          {result.sites.size > 1 && <SiteLink result={result} siteId={siteId} />}
          {newest !== undefined && view.may(path, "GET") && (
            <a href={`${path}?chat_id=${newest.id}`}>{t("To the customer's page")}</a>
          )}
          {result.kindsWithMore.has("sessionsOf") && <span>{t("The newest {0} sessions are shown.", MOST_FOUND)}</span>}
        </p>
      ),
      ...sessionRows(finding, sessions, "oneCustomer"),
    };
  });
}

function foundApps(finding: FindingsContext): FoundKind {
  const { view, result } = finding;
  const { t } = view;
  return {
    title: t("Apps"),
    label: t("Apps"),
    hasMore: result.kindsWithMore.has("apps"),
    head: [t("Name"), "appid", ...siteHead(finding), { label: t("Status"), phone: "top" }],
    rows: result.apps.map(({ siteId, appid, name, revokedAt }) => [
      <NameLink href={`/console/sites/${siteId}/apps/${appid}`} name={name} otherwise={appid} />,
      <code>{appid}</code>,
      ...siteCell(finding, siteId),
      revokedAt === null ? <Badge kind="good" label={t("Active")} /> : <Badge kind="off" label={t("Revoked")} />,
    ]),
  };
}

function foundAgents(finding: FindingsContext): FoundKind {
  const { view, result } = finding;
  const { t } = view;
  const pathOf = (siteId: number, id: number) => {
    const path = `/console/sites/${siteId}/agents`;
    return view.may(`${path}/${id}`, "GET") ? `${path}/${id}` : `${path}?q=${id}`;
  };
  return {
    title: t("Agents"),
    label: t("Agents"),
    hasMore: result.kindsWithMore.has("agents"),
    head: [t("Name"), "ID", ...siteHead(finding), { label: t("Status"), phone: "top" }],
    rows: result.agents.map(({ siteId, id, name, status }) => [
      <NameLink href={pathOf(siteId, id)} name={name} otherwise={id} />,
      id,
      ...siteCell(finding, siteId),
      status === "normal" ? <Badge kind="good" label={t("Normal")} /> : <Badge kind="off" label={t("Disabled")} />,
    ]),
  };
}

function foundWebhooks(finding: FindingsContext): FoundKind {
  const title = finding.view.t("Webhooks");
  return {
    title,
    label: title,
    head: ["URL", ...siteHead(finding)],
    rows: finding.result.webhooks.map(({ siteId, id, url }) => [
      <WebhookLink siteId={siteId} id={id} url={url} />,
      ...siteCell(finding, siteId),
    ]),
  };
}
