import { setTimeout as sleep } from "node:timers/promises";
import { appidOf, createFields, signed } from "./bench-app.ts";
import type { Measurement } from "./measurement.ts";
import type { ProductionBundle } from "./production-bundle.ts";
import { addSite, issueApp, type RunningWorker, startWorker } from "./start-worker.ts";
import { median, percentile } from "./statistics.ts";

/** The tenant whose appid the forger knows, and an honest tenant of the same home. */
const [FORGED, HONEST] = [1, 2];
const ROUNDS = 4;
const ROUND_MS = 4_000;
const HONEST_EVERY_MS = 25;
const FORGED_PER_SECOND = 300;

const SIDES = ["no flood", "flood, no journal", "flood, journal"] as const;
type Side = (typeof SIDES)[number];

/** A flood of forgeries for a known appid: the rows that it leaves, and what an honest tenant of the same home feels of it. */
export async function measureJournal(bundle: ProductionBundle): Promise<Measurement> {
  const [without, journaled] = [await started(bundle, false), await started(bundle, true)];
  const took: Record<Side, number[]> = { "no flood": [], "flood, no journal": [], "flood, journal": [] };
  let forged = 0;
  const since = performance.now();
  try {
    for (let round = 0; round < ROUNDS; round++) {
      for (const side of SIDES) {
        const running = side === "flood, no journal" ? without : journaled;
        const perSecond = side === "no flood" ? 0 : FORGED_PER_SECOND;
        const done = await loaded(running, perSecond);
        took[side].push(...done.honest);
        if (side === "flood, journal") forged += done.forged;
      }
    }
    await sleep(3_000);
    const minutes = (performance.now() - since) / 60_000;
    const { rows } = (await journaled.db
      .prepare("SELECT count(*) AS rows FROM refusals")
      .first<{ rows: number }>()) ?? {
      rows: Number.NaN,
    };
    // One isolate: a row at once, and one a minute. workerd may have begun another.
    const most = 2 * (1 + Math.ceil(minutes));
    const ratio = (a: Side, b: Side, share: number) => percentile(took[a], share) / percentile(took[b], share);
    const beside = (share: number) => ratio("flood, journal", "flood, no journal", share);
    return {
      title: "The journal in a flood",
      tables: [
        {
          head: ["an honest tenant's creates", "requests", "p50, ms", "p99, ms"],
          rows: SIDES.map((side) => [
            side,
            took[side].length,
            median(took[side]).toFixed(2),
            percentile(took[side], 0.99).toFixed(2),
          ]),
        },
      ],
      goals: [
        {
          what: `Rows that ${forged} forgeries for a known appid leave, in ${minutes.toFixed(1)} minutes`,
          goal: `1 to ${most}`,
          result: String(rows),
          met: rows >= 1 && rows <= most,
          enforced: true,
        },
        {
          what: "An honest tenant of the same home in that flood, p50 and p99, with the journal beside without",
          goal: "≤ 1.1 ×",
          result: `${beside(0.5).toFixed(2)} ×, ${beside(0.99).toFixed(2)} ×`,
          met: beside(0.5) <= 1.1,
          enforced: false,
        },
        {
          what: "The same, p50 beside no flood at all: the flood's CPU on this machine",
          goal: "reported",
          result: `${ratio("flood, journal", "no flood", 0.5).toFixed(2)} ×`,
          met: true,
          enforced: false,
        },
      ],
      notes: [
        `${FORGED_PER_SECOND} forgeries a second with a wrong signature, and a create every ${HONEST_EVERY_MS} ms of another site in the same home; ${ROUNDS} rounds of ${ROUND_MS / 1000} s in turn. Forger, tenant, Worker and database share this machine.`,
      ],
    };
  } finally {
    await Promise.all([without.close(), journaled.close()]);
  }
}

async function started(bundle: ProductionBundle, hasJournal: boolean): Promise<RunningWorker> {
  const running = await startWorker(bundle, [{ name: "index.js", code: bundle.code }], {}, [], true, hasJournal);
  await addSite(running.db, { id: HONEST, home: "main" });
  await issueApp(running.url, FORGED);
  await issueApp(running.url, HONEST);
  await loaded(running, 0, 500);
  return running;
}

async function loaded({ url }: RunningWorker, forgedPerSecond: number, ms = ROUND_MS) {
  const honest: number[] = [];
  const sent: Promise<unknown>[] = [];
  const until = performance.now() + ms;
  let forged = 0;
  const flood = async () => {
    const since = performance.now();
    while (forgedPerSecond > 0 && performance.now() < until) {
      for (const due = ((performance.now() - since) / 1_000) * forgedPerSecond; forged < due; forged++) {
        sent.push(post(url, createFields({ appid: appidOf(FORGED) }), "0".repeat(64)));
      }
      await sleep(5);
    }
  };
  const tenant = async () => {
    while (performance.now() < until) {
      const began = performance.now();
      const { code } = await post(url, createFields({ appid: appidOf(HONEST), sbs: crypto.randomUUID() }));
      if (code !== 1) throw new Error("the honest tenant was refused");
      honest.push(performance.now() - began);
      await sleep(Math.max(0, HONEST_EVERY_MS - (performance.now() - began)));
    }
  };
  await Promise.all([flood(), tenant()]);
  await Promise.all(sent);
  return { honest, forged };
}

async function post(url: string, fields: Record<string, unknown>, forgery?: string): Promise<{ code: number }> {
  const { body, signature } = signed(fields);
  const headers = { "content-type": "application/json", "x-chat-signature": forgery ?? signature };
  const answer = await fetch(`${url}/openapi/chat/create_gd`, { method: "POST", headers, body });
  return (await answer.json()) as { code: number };
}
