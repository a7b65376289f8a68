import type { Happening, readTimeline, SessionDelivery } from "../../services/session-timeline.ts";
import type { StoredSession } from "../../services/sessions.ts";
import { LookAgain } from "../parts/parts.tsx";
import { useView } from "../view.ts";
import { DeliveryBadge } from "../webhooks/deliveries.tsx";
import { resultWords } from "../webhooks/webhook-health.tsx";
import { nameAmong } from "../webhooks/webhook-of.tsx";
import { AgentLink, AgentList } from "./agent-list.tsx";

type Of<What> = Extract<Happening, { what: What }>;

interface Shown {
  siteId: number;
  stored: StoredSession;
  /** The webhooks of the site, the oldest first. */
  webhooks: Parameters<typeof nameAmong>[0];
}

/** The history of a session: its opening, agents who joined, and the deliveries of its events to webhooks. */
export function Timeline({ timeline, ...shown }: Shown & { timeline: Awaited<ReturnType<typeof readTimeline>> }) {
  const { siteId, stored } = shown;
  const view = useView();
  const { t } = view;
  const deliveries = timeline.happenings.flatMap((each) => (each.what === "event" ? each.deliveries : []));
  const isUnderway = deliveries.some(({ status, attempts }) => status === "pending" && attempts === 0);
  return (
    <section class="part">
      <h2>{t("What happened")}</h2>
      <ol class="timeline">
        {[...Map.groupBy(timeline.happenings, ({ at }) => at)].map(([at, happenings]) => (
          <li>
            <time datetime={new Date(at * 1000).toISOString()}>{view.exactTime(at)}</time>
            {happenings.map((each) => (
              <div class={each.what}>
                {each.what === "opened" ? (
                  <p>
                    {t("Opened by the app")}{" "}
                    <a href={`/console/sites/${siteId}/apps/${stored.session.appid}`}>
                      <bdi>{stored.session.appName ?? stored.session.appid}</bdi>
                    </a>
                  </p>
                ) : each.what === "added" ? (
                  <AddedAgents {...shown} {...each} />
                ) : (
                  <EventDeliveries {...shown} {...each} />
                )}
              </div>
            ))}
          </li>
        ))}
      </ol>
      {isUnderway && <LookAgain>{t("An event is on its way to a webhook.")}</LookAgain>}
      {timeline.isCut && <p class="hint">{t("It may have more events: only its first ones are shown.")}</p>}
    </section>
  );
}

function AddedAgents({ siteId, stored, agents, addedBy }: Shown & Of<"added">) {
  const { t, number } = useView();
  const { responsibleAgentId: agentId, responsibleAgentName: agentName } = stored.session;
  const author = [{ agentId, agentName }, ...stored.participants].find((agent) => agent.agentId === addedBy);
  const count = number(agents.length);
  return (
    <>
      <p>
        {t("Agents joined: {0}, added by", count)}{" "}
        <AgentLink siteId={siteId} agentId={addedBy} agentName={author?.agentName ?? null} />
      </p>
      <AgentList siteId={siteId} agents={agents} label={t("{0} agents", count)} />
    </>
  );
}

/** An event, with what came of its delivery to each webhook. */
function EventDeliveries({ siteId, webhooks, event, deliveries }: Shown & Of<"event">) {
  const view = useView();
  const { t } = view;
  const outcomeOf = ({ webhookId, seq, status, attempts, ...delivery }: SessionDelivery) => {
    const answer = resultWords(view, delivery)?.words ?? "–";
    return (
      <li>
        <a href={`/console/sites/${siteId}/webhooks/${webhookId}?event=${seq}`}>
          <bdi>{nameAmong(webhooks, { id: webhookId, url: delivery.url })}</bdi>
        </a>{" "}
        <DeliveryBadge status={status} />{" "}
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
  };
  return (
    <>
      <p>
        {t("Event {0}", event.seq)} <code>{event.type}</code>
      </p>
      {deliveries.length === 0 ? (
        <p class="hint">{t("No webhook gets it, or its deliveries are not kept any more.")}</p>
      ) : (
        <ul class="deliveries">{deliveries.map(outcomeOf)}</ul>
      )}
    </>
  );
}
