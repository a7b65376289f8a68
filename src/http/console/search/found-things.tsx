import type { Child } from "hono/jsx";
import { isVisible } from "../../../fields.ts";
import {
  type CustomerHit,
  type EventHit,
  MOST_FOUND,
  type SearchResult,
  type SessionHit,
} from "../../../services/search.ts";
import { callPath } from "../journal/refusal-table.tsx";
import { Badge, Time } from "../parts/parts.tsx";
import { Table } from "../parts/table.tsx";
import { visibleSbs } from "../sessions/session-table.tsx";
import type { View } from "../view.ts";

interface Props {
  view: View;
  result: SearchResult;
}

/** Everything that was found, by kind: what an id names first, what has the words after it. */
export function FoundThings(props: Props) {
  const { view, result } = props;
  const { t } = view;
  const { calls, namedSites, sessions, titles, customers, events, webhooks } = result;
  return (
    <>
      {calls.length > 0 && (
        <Kind {...props} kind="calls" title={t("Calls")}>
          <Table
            label={t("Calls")}
            head={[t("Request id"), ...siteHead(props)]}
            rows={calls.map(({ siteId, requestId }) => [
              <a href={callPath(siteId, requestId)}>
                <code>{requestId}</code>
              </a>,
              ...siteCell(props, siteId),
            ])}
            empty=""
          />
        </Kind>
      )}
      {namedSites.length > 0 && (
        <Kind {...props} kind="namedSites" title={t("Sites")}>
          <Table
            label={t("Sites")}
            head={[t("Name"), "ID"]}
            rows={namedSites.map((site) => [<SiteLink result={result} siteId={site.id} />, site.id])}
            empty=""
          />
        </Kind>
      )}
      {sessions.length > 0 && (
        <Kind {...props} kind="sessions" title={t("Sessions with this chat_id")}>
          <Sessions {...props} label={t("Sessions with this chat_id")} sessions={sessions} />
        </Kind>
      )}
      {customers.map((customer) => (
        <Customer {...props} customer={customer} />
      ))}
      <Apps {...props} />
      <Agents {...props} />
      {webhooks.length > 0 && (
        <Kind {...props} kind="webhooks" title="Webhooks">
          <Table
            label="Webhooks"
            head={["URL", ...siteHead(props)]}
            rows={webhooks.map(({ siteId, id, url }) => [
              <WebhookLink siteId={siteId} id={id} url={url} />,
              ...siteCell(props, siteId),
            ])}
            empty=""
          />
        </Kind>
      )}
      {events.length > 0 && <Events {...props} />}
      {titles.length > 0 && (
        <Kind {...props} kind="titles" title={t("Sessions with these words in a title")}>
          <Sessions {...props} label={t("Sessions with these words in a title")} sessions={titles} />
        </Kind>
      )}
    </>
  );
}

function Kind({ view, result, kind, title, children }: Props & { kind: string; title: string; children: Child }) {
  return (
    <section class="part">
      <h2>{title}</h2>
      {children}
      {result.more.has(kind) && (
        <p class="hint">{view.t("There are more. The first {0} are shown: type more of it.", MOST_FOUND)}</p>
      )}
    </section>
  );
}

/** The site stands in each row only where there are several. */
const siteHead = ({ view, result }: Props) => (result.sites.size > 1 ? [view.t("Site")] : []);

const siteCell = ({ result }: Props, siteId: number): Child[] =>
  result.sites.size > 1 ? [<SiteLink result={result} siteId={siteId} />] : [];

function SiteLink({ result, siteId }: { result: SearchResult; siteId: number }) {
  const name = result.sites.get(siteId)?.name ?? "";
  return (
    <a href={`/console/sites/${siteId}`}>
      <bdi>{isVisible(name) ? name : `(${siteId})`}</bdi>
    </a>
  );
}

function Sessions(props: Props & { label: string; sessions: SessionHit[] }) {
  const { view, label, sessions } = props;
  const { t } = view;
  return (
    <Table
      label={label}
      head={[t("Title"), "chat_id", t("Customer"), ...siteHead(props), t("Created")]}
      rows={sessions.map(({ siteId, id, title, customerName, createdAt }) => [
        <a class="clip" href={`/console/sites/${siteId}/sessions/${id}`}>
          <bdi>{isVisible(title) ? title : `(${id})`}</bdi>
        </a>,
        id,
        <bdi>{customerName}</bdi>,
        ...siteCell(props, siteId),
        <Time view={view} at={createdAt} />,
      ])}
      empty={t("No sessions here.")}
    />
  );
}

/** A customer of a site, and their newest sessions. A session leads to their page: their own id goes into no address. */
function Customer(props: Props & { customer: CustomerHit }) {
  const { view, result, customer } = props;
  const { t } = view;
  const { siteId, externalId, name } = customer;
  const sessions = result.sessionsOf.filter((session) => session.siteId === siteId);
  const path = `/console/sites/${siteId}/customers`;
  const [newest] = sessions;
  return (
    <section class="part">
      <h2>
        {t("Customer")} <bdi>{name}</bdi>
      </h2>
      <p>
        {t("Customer id (sbs)")}: <bdi class="long">{visibleSbs(externalId)}</bdi>
        {result.sites.size > 1 && (
          <>
            {" · "}
            <SiteLink result={result} siteId={siteId} />
          </>
        )}
        {newest !== undefined && view.may(path, "GET") && (
          <>
            {" · "}
            <a href={`${path}?chat_id=${newest.id}`}>{t("To the customer's page")}</a>
          </>
        )}
      </p>
      <Sessions {...props} label={t("Sessions of this customer")} sessions={sessions} />
      {result.more.has("sessionsOf") && <p class="hint">{t("The newest {0} sessions are shown.", MOST_FOUND)}</p>}
    </section>
  );
}

function Apps(props: Props) {
  const { view, result } = props;
  const { t } = view;
  if (result.apps.length === 0) return null;
  return (
    <Kind {...props} kind="apps" title={t("Apps")}>
      <Table
        label={t("Apps")}
        head={[t("Name"), "appid", ...siteHead(props), t("Status")]}
        rows={result.apps.map(({ siteId, appid, name, revokedAt }) => [
          <a href={`/console/sites/${siteId}/apps/${appid}`}>
            <bdi>{isVisible(name) ? name : appid}</bdi>
          </a>,
          <code>{appid}</code>,
          ...siteCell(props, siteId),
          revokedAt === null ? <Badge kind="good" label={t("Active")} /> : <Badge kind="off" label={t("Revoked")} />,
        ])}
        empty=""
      />
    </Kind>
  );
}

function Agents(props: Props) {
  const { view, result } = props;
  const { t } = view;
  if (result.agents.length === 0) return null;
  return (
    <Kind {...props} kind="agents" title={t("Agents")}>
      <Table
        label={t("Agents")}
        head={[t("Name"), "ID", ...siteHead(props), t("Status")]}
        rows={result.agents.map(({ siteId, id, name, status }) => [
          <a href={`/console/sites/${siteId}/agents/${id}`}>
            <bdi>{isVisible(name) ? name : `(${id})`}</bdi>
          </a>,
          id,
          ...siteCell(props, siteId),
          status === "normal" ? <Badge kind="good" label={t("Normal")} /> : <Badge kind="off" label={t("Disabled")} />,
        ])}
        empty=""
      />
    </Kind>
  );
}

/** An event: its session, and the webhooks that get it. Found by its id, so there is one. */
function Events(props: Props) {
  const { view, result } = props;
  const { t } = view;
  const events = [...Map.groupBy(result.events, ({ siteId, seq }) => `${siteId} ${seq}`).values()];
  return (
    <Kind {...props} kind="events" title={t("Events")}>
      <Table
        label={t("Events")}
        head={[t("Event"), t("Session"), "Webhooks", ...siteHead(props), t("Created")]}
        rows={events.flatMap((told) => {
          const [event] = told;
          return event === undefined ? [] : [eventRow(props, event, told)];
        })}
        empty=""
      />
    </Kind>
  );
}

function eventRow(props: Props, { siteId, seq, type, sessionId, createdAt }: EventHit, told: EventHit[]): Child[] {
  const getting = told.filter(({ delivery }) => delivery !== null);
  return [
    <code>{`${seq} ${type}`}</code>,
    sessionId === null ? (
      "–"
    ) : (
      <a href={`/console/sites/${siteId}/sessions/${sessionId}`}>{props.view.t("Session {0}", sessionId)}</a>
    ),
    getting.length === 0 ? (
      "–"
    ) : (
      <span class="pair">
        {getting.map(({ webhookId, url }) => (
          <WebhookLink siteId={siteId} id={webhookId ?? ""} url={url ?? ""} />
        ))}
      </span>
    ),
    ...siteCell(props, siteId),
    <Time view={props.view} at={createdAt} />,
  ];
}

/** Links a webhook by the host of its URL, as its reader knows it. */
function WebhookLink({ siteId, id, url }: { siteId: number; id: string; url: string }) {
  return (
    <a href={`/console/sites/${siteId}/webhooks/${id}`}>
      <bdi>{URL.parse(url)?.href ?? url}</bdi>
    </a>
  );
}
