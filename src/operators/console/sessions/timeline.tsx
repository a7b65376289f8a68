import type { Child } from "hono/jsx";
import type { Happening, SessionDelivery } from "../../services/session-timeline.ts";
import type { StoredSession } from "../../services/sessions.ts";
import type { Site } from "../../services/sites.ts";
import type { View } from "../view.ts";
import { DeliveryBadge } from "../webhooks/delivery-badge.tsx";
import { resultWords } from "../webhooks/failure-words.ts";
import { hostOf } from "../webhooks/webhook-of.tsx";
import { AgentName } from "./agent-name.tsx";

interface TimelineProps {
  view: View;
  site: Site;
  stored: StoredSession;
  timeline: { happenings: Happening[]; isCut: boolean };
}

/** The history of a session: its opening, agents who joined, and the deliveries of its events to webhooks. */
export function Timeline({ view, site, stored, timeline }: TimelineProps) {
  const { t } = view;
  return (
    <section class="part">
      <h2>{t("What happened")}</h2>
      <ol class="timeline">
        {[...Map.groupBy(timeline.happenings, ({ at }) => at)].map(([at, happenings]) => (
          <li>
            <time datetime={new Date(at * 1000).toISOString()}>{view.exactTime(at)}</time>
            {happenings.map((each) => (
              <div class={each.what}>
                <HappeningText view={view} site={site} stored={stored} happening={each} />
              </div>
            ))}
          </li>
        ))}
      </ol>
      {timeline.isCut && <p class="hint">{t("It may have more events: only its first ones are shown.")}</p>}
    </section>
  );
}

function HappeningText(props: { view: View; site: Site; stored: StoredSession; happening: Happening }): Child {
  const { view, site, stored, happening } = props;
  const { t } = view;
  if (happening.what === "opened") {
    const { appid, appName } = stored.session;
    return (
      <p>
        {t("Opened by the app")}{" "}
        <a href={`/console/sites/${site.id}/apps/${appid}`}>
          <bdi>{appName ?? appid}</bdi>
        </a>
      </p>
    );
  }
  if (happening.what === "added") return <AddedAgents view={view} stored={stored} happening={happening} />;
  const { event, deliveries } = happening;
  return (
    <>
      <p>
        {t("Event {0}", event.seq)} <code>{event.type}</code>
      </p>
      {deliveries.length === 0 ? (
        <p class="hint">{t("No webhook gets it, or its deliveries are not kept any more.")}</p>
      ) : (
        <ul class="deliveries">
          {deliveries.map((delivery) => (
            <DeliveryOutcome view={view} site={site} delivery={delivery} />
          ))}
        </ul>
      )}
    </>
  );
}

/** How many agents of one call are named at once. More are folded. */
const MOST_NAMED = 5;

function AddedAgents(props: { view: View; stored: StoredSession; happening: Extract<Happening, { what: "added" }> }) {
  const { view, stored, happening } = props;
  const { t } = view;
  const { agents, addedBy } = happening;
  const { session, participants } = stored;
  const author =
    addedBy === session.responsibleAgentId
      ? session.responsibleAgentName
      : (participants.find(({ agentId }) => agentId === addedBy)?.agentName ?? null);
  const count = new Intl.NumberFormat(view.language).format(agents.length);
  const names = agents.map(({ agentId, agentName }) => (
    <li>
      <AgentName id={agentId} name={agentName} />
    </li>
  ));
  return (
    <>
      <p>
        {t("Agents joined: {0}, added by", count)} <AgentName id={addedBy} name={author} />
      </p>
      {agents.length <= MOST_NAMED ? (
        <ul>{names}</ul>
      ) : (
        <details class="people">
          <summary>{t("{0} agents", count)}</summary>
          <ul tabindex={0} aria-label={t("{0} agents", count)}>
            {names}
          </ul>
        </details>
      )}
    </>
  );
}

/** The result of delivering an event to one webhook. */
function DeliveryOutcome({ view, site, delivery }: { view: View; site: Site; delivery: SessionDelivery }) {
  const { t } = view;
  const { webhookId, seq, status, attempts } = delivery;
  const answer = resultWords(view, delivery)?.words ?? "–";
  return (
    <li>
      <a href={`/console/sites/${site.id}/webhooks/${webhookId}?event=${seq}`}>
        <bdi>{hostOf(delivery)}</bdi>
      </a>{" "}
      <DeliveryBadge view={view} status={status} />{" "}
      <small>
        {attempts > 0 && t("attempts: {0}", attempts)}
        {status !== "delivered" && attempts > 0 && (
          <bdi class="clip" title={answer}>
            {answer}
          </bdi>
        )}
      </small>
    </li>
  );
}
