import type { Child } from "hono/jsx";
import { isVisible } from "../../../core/fields.ts";
import { SESSION_FIELDS, type StoredSession } from "../../services/sessions.ts";
import type { Site } from "../../services/sites.ts";
import { Time } from "../parts/parts.tsx";
import { showUnseen } from "../parts/unseen.tsx";
import type { View } from "../view.ts";
import { Participants } from "./participants.tsx";
import { RequestId } from "./request-id.tsx";

type Fact = [term: Child, value: Child];

/** The fields that the page shows in words of its own. Any other stands under its name in the API. */
const IN_WORDS: ReadonlySet<string> = new Set([
  "chat_id",
  "kind",
  "status",
  "responsible_agent_id",
  "visitor_title",
  "agent_title",
  "auto_title",
  "metadata",
  "created_at",
]);

/** The stored facts of a session besides its conversation. @param props `title`: the title that the page shows at its top */
export function SessionFacts(props: { view: View; site: Site; stored: StoredSession; title: string | undefined }) {
  const { view, site, stored, title } = props;
  const { t } = view;
  const { session, customer } = stored;
  const path = `/console/sites/${site.id}`;
  const name = isVisible(customer.name) ? customer.name : showUnseen(customer.externalId);
  const metadata = Object.entries(session.metadata);
  const facts: Fact[] = [
    [
      t("Customer"),
      <span class="stack">
        {view.may(`${path}/customers`, "GET") ? (
          <a href={`${path}/customers?chat_id=${session.id}`}>
            <bdi>{name}</bdi>
          </a>
        ) : (
          <bdi>{name}</bdi>
        )}
        <small>
          <bdi class="long">{showUnseen(customer.externalId)}</bdi> · <code>{customer.ip}</code>
        </small>
      </span>,
    ],
    [t("Agents"), <Participants view={view} siteId={site.id} stored={stored} />],
    [
      t("App"),
      <a href={`${path}/apps/${session.appid}`}>
        <bdi>{session.appName ?? session.appid}</bdi>
      </a>,
    ],
    [t("Opened"), <Time at={session.createdAt} />],
    ...(session.requestId === null
      ? []
      : [[t("By the call"), <RequestId view={view} path={path} id={session.requestId} />] as Fact]),
    ...(metadata.length === 0 ? [] : [[t("Metadata"), <Pairs pairs={metadata} />] as Fact]),
    ...titlesOf(view, stored, title),
    [t("Kind"), session.kind === "ticket" ? t("Ticket") : t("Chat")],
    ...SESSION_FIELDS.filter(([, name]) => !IN_WORDS.has(name)).map(
      ([column, name]): Fact => [<code>{name}</code>, <bdi>{plainText(session[column])}</bdi>],
    ),
  ];
  return (
    <aside class="card" aria-label={t("Details")}>
      <dl class="facts">
        {facts.map(([term, value]) => (
          <>
            <dt>{term}</dt>
            <dd>{value}</dd>
          </>
        ))}
      </dl>
    </aside>
  );
}

const plainText = (value: unknown) =>
  value === null ? "–" : showUnseen(typeof value === "string" ? value : JSON.stringify(value));

/** The titles that the top of the page does not show. */
function titlesOf({ t }: View, { session }: StoredSession, shown: string | undefined): Fact[] {
  const titles: [string, string | null][] = [
    [t("Title for agents"), session.agentTitle],
    [t("Title for the visitor"), session.visitorTitle],
    [t("Automatic title"), session.autoTitle],
  ];
  return titles
    .filter(([, title]) => title !== null && title !== shown && isVisible(title))
    .map(([term, title]) => [term, <bdi>{title}</bdi>]);
}

export function Pairs({ pairs }: { pairs: [name: string, value: string][] }) {
  return (
    <ul>
      {pairs.map(([name, value]) => (
        <li>
          <code>{name}</code> <bdi>{value}</bdi>
        </li>
      ))}
    </ul>
  );
}
