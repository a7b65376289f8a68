import type { Child } from "hono/jsx";
import type { EventHit } from "../../services/search.ts";
import { Ago } from "../parts/parts.tsx";
import { type FindingsContext, type FoundKind, siteCell, siteHead, WebhookLink } from "./found-parts.tsx";

/** An event, with its session and the webhooks that get it. */
export function foundEvents(finding: FindingsContext): FoundKind {
  const { view, result } = finding;
  const { t } = view;
  const events = Map.groupBy(result.events, ({ siteId, seq }) => `${siteId} ${seq}`);
  return {
    title: t("Events"),
    label: t("Events"),
    head: [t("Event"), t("Session"), t("Webhooks"), ...siteHead(finding), { label: t("Created"), phone: "top" }],
    rows: [...events.values()].flatMap((eventHits) => {
      const [event] = eventHits;
      return event === undefined ? [] : [eventRow(finding, event, eventHits)];
    }),
  };
}

function eventRow(
  finding: FindingsContext,
  { siteId, seq, type, sessionId, createdAt }: EventHit,
  eventHits: EventHit[],
): Child[] {
  const getting = eventHits.filter(({ delivery }) => delivery !== null);
  return [
    <code>{`${seq} ${type}`}</code>,
    sessionId === null ? (
      "–"
    ) : (
      <a href={`/console/sites/${siteId}/sessions/${sessionId}`}>{finding.view.t("Session {0}", sessionId)}</a>
    ),
    getting.length === 0
      ? "–"
      : getting.map(({ webhookId, url }) => <WebhookLink siteId={siteId} id={webhookId ?? ""} url={url ?? ""} />),
    ...siteCell(finding, siteId),
    <Ago at={createdAt} />,
  ];
}
