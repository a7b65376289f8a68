import { AGENTS, APP, createFields, signed } from "./bench-app.ts";
import { load, postBytes } from "./keep-alive-load.ts";
import { type Call, PRODUCTION } from "./observed-bindings.ts";
import { observedWorker, PEERS } from "./observed-production.ts";
import type { ProductionBundle } from "./production-bundle.ts";
import { benchModule, startWorker } from "./start-worker.ts";
import { median } from "./statistics.ts";

const WAYS = { production: PRODUCTION, careful: PEERS.careful, usual: PEERS.usual } as const;
export type Way = keyof typeof WAYS;

/** For each request, how long D1 worked on each of its calls, in milliseconds. */
type ServiceTimes = Record<Way, number[][]>;

interface MeasuredD1 {
  times: ServiceTimes;
  /**
   * Bytes that one session adds to the file, indexes included: with its customer, one participant and a first message
   * of 87 letters.
   */
  bytesPerSession: number;
}

const REQUESTS = 150;
const WARMING = 20;
/** Rows that exist before the first request, so that the indexes are as deep as in real use. */
const OLD_ROWS = 20_000;
/** Unix seconds of these rows. */
const NOW = 1_795_000_000;
/** The lower bound of a service time: the difference of two measured times may come out smaller. */
const LEAST_MS = 0.02;

const ways = Object.keys(WAYS) as Way[];

let measured: Promise<MeasuredD1> | undefined;

/** Measured once per run, because several parts need it. */
export function measuredD1(bundle: ProductionBundle): Promise<MeasuredD1> {
  measured ??= measure(bundle);
  return measured;
}

/**
 * How long the local D1 works on the calls of each way. workerd's clock has whole milliseconds, so the calls are
 * recorded first, with statements and values. Then they are sent one by one to another D1 with the same rows, and timed
 * from outside. The time of the same call without D1 is subtracted.
 */
async function measure(bundle: ProductionBundle): Promise<MeasuredD1> {
  const recorder = await observedWorker(bundle);
  const { db } = recorder.running;
  const empty = await sizeOf(db);
  await db.batch(oldRows().map((sql) => db.prepare(sql)));
  const bytesPerSession = ((await sizeOf(db)) - empty) / OLD_ROWS;
  const app = await db.prepare("SELECT * FROM apps").first<Record<string, string | number | null>>();
  const recorded: { way: Way; calls: Call["statements"][] }[] = [];
  for (let i = 0; i < WARMING + REQUESTS; i++) {
    for (const way of ways) {
      // Every other request has the customer of the request before.
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
  return { times, bytesPerSession };
}

async function sizeOf(db: D1Database): Promise<number> {
  return (await db.prepare("SELECT 1").all()).meta.size_after;
}

async function sessionsOf(db: D1Database): Promise<number | null> {
  return db.prepare("SELECT count(*) AS sessions FROM sessions").first<number>("sessions");
}

function oldRows(): string[] {
  const numbers = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${OLD_ROWS})`;
  // Customers' ids are scattered, so pages fill as in real use.
  const customer = "printf('customer_%08x', (i * 2654435761) & 4294967295)";
  const { title, content } = createFields();
  return [
    `INSERT INTO customers (site_id, external_id, name, ip, created_at, updated_at)
      ${numbers} SELECT 1, ${customer}, 'Old Customer', '203.0.113.9', ${NOW}, ${NOW} FROM n`,
    `INSERT INTO sessions (site_id, id, appid, kind, customer_external_id, responsible_agent_id, status, visitor_title,
        agent_title, auto_title, created_at)
      ${numbers} SELECT 1, i, '${APP.appid}', 'ticket', ${customer}, ${AGENTS[0]}, 'replied', '${title}', '${title}',
        'The parcel has not arrived.', ${NOW} FROM n`,
    `INSERT INTO participants (site_id, session_id, agent_id, added_by, added_at)
      ${numbers} SELECT 1, i, ${AGENTS[1]}, ${AGENTS[0]}, ${NOW} FROM n`,
    `INSERT INTO messages (site_id, session_id, seq, sender, sender_uid, content, created_at)
      ${numbers} SELECT 1, i, 1, 'agent', ${AGENTS[0]}, '${content}', ${NOW} FROM n`,
  ];
}
