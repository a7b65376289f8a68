import { setTimeout as sleep } from "node:timers/promises";
import type { Measurement } from "./measurement.ts";
import { observedWorker } from "./observed-production.ts";
import type { ProductionBundle } from "./production-bundle.ts";
import { startSlowReceiver } from "./slow-receiver.ts";
import { adminCall } from "./start-worker.ts";

const DUE = 2_000;
const ANSWER_MS = 2_000;
/** The most posts that the service has in flight to one webhook, and the most of one invocation. */
const MOST_IN_FLIGHT = 20;
const OF_ONE_INVOCATION = 6;
/** When the posts in flight are counted, since the notice. All posts of a moment end together, so the most of the half second before counts. */
const LOOKED_MS = [1_000, 2_000, 5_000, 10_000];
const LOOK_MS = 500;
const QUEUE_D1_MS = 30;

/** How soon one notice fills the places of a webhook that has far more due than one invocation can post. */
export async function measureBacklog(bundle: ProductionBundle): Promise<Measurement> {
  const { running } = await observedWorker(bundle, { vars: { WEBHOOK_LOOPBACK: "allow", QUEUE_D1_MS } });
  const receiver = await startSlowReceiver(() => ({ status: 204, ms: ANSWER_MS }));
  const inFlight: number[] = [];
  const arrived: number[] = [];
  try {
    const webhook = await fillBacklog(running, receiver.url);
    await running.queue.send({ home: "main", site: 1, webhook });
    const since = performance.now();
    for (const ms of LOOKED_MS) {
      let most = 0;
      while (performance.now() - since < ms) {
        await sleep(20);
        if (performance.now() - since > ms - LOOK_MS) most = Math.max(most, receiver.inFlight());
      }
      inFlight.push(most);
      arrived.push(receiver.arrivals.length);
    }
  } finally {
    receiver.close();
    await running.close();
  }
  const seconds = (ms: number) => `after ${ms / 1000} s`;
  const most = Math.max(...inFlight);
  const filledAt = LOOKED_MS[inFlight.indexOf(MOST_IN_FLIGHT)];
  return {
    title: "A backlog",
    tables: [
      {
        head: [`${DUE} due, one notice, answers in ${ANSWER_MS / 1000} s`, ...LOOKED_MS.map(seconds)],
        rows: [
          ["posts in flight", ...inFlight],
          ["posted since the notice", ...arrived],
          ["the most that one invocation has in flight", ...LOOKED_MS.map(() => OF_ONE_INVOCATION)],
        ],
      },
    ],
    goals: [
      {
        what: `Posts in flight from a backlog of ${DUE}, within seconds of one notice`,
        goal: `${MOST_IN_FLIGHT} within 5 s`,
        result: filledAt === undefined ? `${most} at the most` : `${MOST_IN_FLIGHT} within ${filledAt / 1000} s`,
        met: filledAt !== undefined && filledAt <= 5_000 && most === MOST_IN_FLIGHT,
        enforced: false,
      },
    ],
    notes: [
      `D1 at ${QUEUE_D1_MS} ms; a number in flight is the most within the ${LOOK_MS / 1000} s before. No sweep runs: it would send one more notice a minute.`,
    ],
  };
}

/** Adds a webhook, and events that are due to it. @returns the webhook's id */
async function fillBacklog({ url, db }: { url: string; db: D1Database }, to: string): Promise<string> {
  await adminCall(url, "POST", "1/webhooks", { url: `${to}/` });
  const webhook = await db.prepare("SELECT id FROM webhooks").first<string>("id");
  if (webhook === null) throw new Error("the webhook was not added");
  const now = Math.floor(Date.now() / 1000);
  const numbers = "WITH RECURSIVE number(seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM number WHERE seq < ?1)";
  await db.batch([
    db
      .prepare(
        `INSERT INTO events (site_id, seq, id, type, session_id, created_at, data)
          ${numbers} SELECT 1, seq, 'evt_' || lower(hex(randomblob(16))), 'session.created', NULL, ?2, json_object('seq', seq) FROM number`,
      )
      .bind(DUE, now),
    db
      .prepare(
        `INSERT INTO deliveries (site_id, webhook_id, seq, status, attempts, next_attempt_at, created_at)
          SELECT 1, ?1, seq, 'pending', 0, ?2, ?2 FROM events`,
      )
      .bind(webhook, now),
  ]);
  return webhook;
}
