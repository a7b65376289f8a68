import { AGENTS, createFields, signed } from "./bench-app.ts";
import { load, postBytes } from "./keep-alive-load.ts";
import { type Call, PRODUCTION } from "./observed-bindings.ts";
import { observedWorker, PEERS } from "./observed-production.ts";
import type { ProductionBundle } from "./production-bundle.ts";
import { benchModule, startWorker } from "./start-worker.ts";
import { median } from "./statistics.ts";

export const WAYS = { production: PRODUCTION, careful: PEERS.careful, usual: PEERS.usual } as const;
export type Way = keyof typeof WAYS;

/** For each request, how long D1 worked on each of its calls, in milliseconds. */
export type ServiceTimes = Record<Way, number[][]>;

const REQUESTS = 150;
const WARMING = 20;
/** Rows there are before the first request, so that trees have a depth. */
const OLD_ROWS = 20_000;
/** No call takes less; a difference of two times can say so all the same. */
const LEAST_MS = 0.02;

const ways = Object.keys(WAYS) as Way[];

/**
 * How long the local D1 works on what each way asks of it. workerd tells time in whole milliseconds, so the calls are written down
 * first, statements and values, and asked again one by one of another D1 with the same rows, timed from outside. From each time goes
 * what the same call takes without D1.
 */
export async function serviceTimes(bundle: ProductionBundle): Promise<ServiceTimes> {
  const recorder = await observedWorker(bundle);
  const { db } = recorder.running;
  await db.batch(oldRows().map((sql) => db.prepare(sql)));
  const app = await db.prepare("SELECT * FROM apps").first<Record<string, string | number | null>>();
  const recorded: { way: Way; calls: Call["statements"][] }[] = [];
  for (let i = 0; i < WARMING + REQUESTS; i++) {
    for (const way of ways) {
      // Every other request is of a customer known from the one before.
      const request = signed(createFields({ sbs: `${way}_${i >> 1}` }));
      await recorder.call("create_gd", request, { module: WAYS[way], record: true });
      const calls = (await recorder.calls()).filter(({ binding }) => binding === "DB");
      recorded.push({ way, calls: calls.map(({ statements }) => statements) });
    }
  }
  const written = await sessionsOf(db);
  await recorder.running.close();

  const replayer = await startWorker(bundle, [benchModule("replaying-worker.ts")]);
  const columns = Object.keys(app ?? {});
  await replayer.db.batch([
    ...oldRows().map((sql) => replayer.db.prepare(sql)),
    replayer.db
      .prepare(`INSERT INTO apps (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`)
      .bind(...Object.values(app ?? {})),
  ]);
  const times: ServiceTimes = { production: [], careful: [], usual: [] };
  const without: number[] = [];
  const raw: { way: Way; ms: number[] }[] = [];
  for (const [place, { way, calls }] of recorded.entries()) {
    const ms: number[] = [];
    for (const call of calls) {
      const body = JSON.stringify(call);
      without.push(await load(replayer.url, [postBytes("/?skip", body, {})], 1));
      ms.push(await load(replayer.url, [postBytes("/", body, {})], 1));
    }
    if (place >= WARMING * ways.length) raw.push({ way, ms });
  }
  const rewritten = await sessionsOf(replayer.db);
  await replayer.close();
  if (rewritten !== written) throw new Error(`asked again, the calls wrote ${rewritten} sessions and not ${written}`);
  const bare = median(without);
  for (const { way, ms } of raw) times[way].push(ms.map((each) => Math.max(LEAST_MS, each - bare)));
  return times;
}

async function sessionsOf(db: D1Database): Promise<number | null> {
  return db.prepare("SELECT count(*) AS sessions FROM sessions").first<number>("sessions");
}

function oldRows(): string[] {
  const numbers = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${OLD_ROWS})`;
  return [
    `INSERT INTO customers (site_id, external_id, name, ip, created_at, updated_at)
      ${numbers} SELECT 1, 'old_' || i, 'Old Customer', '203.0.113.9', 0, 0 FROM n`,
    `INSERT INTO sessions (id, site_id, kind, customer_id, responsible_agent_id, status, auto_title, created_at)
      ${numbers} SELECT i, 1, 'ticket', i, ${AGENTS[0]}, 'replied', 'An old session', 0 FROM n`,
    `INSERT INTO participants (session_id, agent_id, added_by, added_at)
      ${numbers} SELECT i, ${AGENTS[1]}, ${AGENTS[0]}, 0 FROM n`,
    `INSERT INTO messages (session_id, seq, sender, sender_uid, content, created_at)
      ${numbers} SELECT i, 1, 'agent', ${AGENTS[0]}, 'The parcel has not arrived. It was to be here on Monday.', 0 FROM n`,
  ];
}
