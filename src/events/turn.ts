import type { Runtime } from "../core/runtime.ts";
import { newEventId } from "../core/signed/event-id.ts";
import type { EndedAttempt } from "./attempt.ts";
import type { Share } from "./budget.ts";
import { healthOf } from "./health-of.ts";
import { countResults, type LeasedRow, leaseDue, recordResults, selectLeased } from "./store/deliveries.ts";
import type { WebhookNotice } from "./store/webhook-events.ts";
import { type DisabledWebhook, judge } from "./store/webhook-health.ts";
import { namesOf, type Target } from "./target.ts";

/** What one batch reads: the webhooks with new attempts, and the changes of the webhooks' health. */
export interface Turn {
  leased: LeasedRow[];
  judged: readonly { noted: unknown; disabled?: DisabledWebhook[]; notices?: WebhookNotice[] }[];
}

/** When the leases of a turn begin and end, in Unix seconds, and their id. */
export interface Lease {
  now: number;
  until: number;
  lease: string;
}

/**
 * The batch of a turn. It records ended attempts, judges the webhooks' health, leases due deliveries, and reads the leased ones.
 *
 * @returns a function that makes the statements of a try
 */
export function turnOf(
  runtime: Runtime,
  db: D1Database,
  ended: EndedAttempt[],
  askedTargets: { target: Target; share: Share }[],
  lease: Lease,
) {
  const results = JSON.stringify(ended.map(({ result }) => result));
  const names = namesOf(askedTargets.map(({ target }) => target));
  // The ids of events are drawn once: a second try must not write other events.
  const judged = healthOf(ended, lease.now).map((each) => ({ ...each, eventId: newEventId(runtime) }));
  return () => ({
    counted: ended.length > 0 ? countResults(db, { results }) : undefined,
    recorded: ended.length > 0 ? recordResults(db, { results }) : undefined,
    judged: judged.map(({ health, knownFailingSince, eventId }) =>
      judge(db, health, knownFailingSince, lease.now, eventId),
    ),
    begun: askedTargets.flatMap(({ target: { siteId, id }, share }) =>
      share.wanted > 0 ? [leaseDue(db, { ...lease, ...share, siteId, webhookId: id })] : [],
    ),
    leased: selectLeased(db, { ...lease, asked: names }),
  });
}
