import { AGENTS, APP, createFields, signed } from "./bench-app.ts";
import type { ResultsOf } from "./bench-part.ts";
import { load, postBytes } from "./keep-alive-load.ts";
import { type Call, PRODUCTION } from "./observed-bindings.ts";
import { observedWorker, PEERS } from "./observed-production.ts";
import type { ProductionBundle } from "./production-bundle.ts";
import { benchModule, cpuMs, startWorker } from "./start-worker.ts";
import { median, spread } from "./statistics.ts";

const WAYS = { production: PRODUCTION, careful: PEERS.careful } as const;
type BenchWay = keyof typeof WAYS;

const STARTS = 4;
const CREATES = 150;
const WARMING = 30;
/** Rows that exist before the first request, so that the indexes are as deep as in real use. */
const OLD_ROWS = 20_000;
/** Unix seconds of these rows. */
const NOW = 1_795_000_000;

/** The recorded D1 calls of create_gd, with statements and values, and the app's row that they need. */
interface RecordedCall {
  creates: { way: BenchWay; calls: Call["statements"][] }[];
  app: Record<string, string | number | null>;
  bytesPerSession: number;
}

/**
 * How long the local D1 works on a create_gd. A database runs one call at a time, so this also limits its rate. First the calls are
 * recorded. Then they are sent one by one to another D1 with the same rows. D1's work is the CPU time of that workerd, minus that
 * of the same call without D1. Its files are in memory, so it waits for nothing.
 */
export async function measureDatabase(bundle: ProductionBundle): Promise<ResultsOf<"database">> {
  const recording = await record(bundle);
  const starts: Record<BenchWay, number>[] = [];
  for (let i = 0; i < STARTS; i++) starts.push(await replay(bundle, recording));
  return {
    "database.creates": spread(starts.map(({ production }) => 1000 / production)),
    "database.careful": spread(starts.map(({ production, careful }) => careful / production)),
    "database.bytes": { value: Math.round(recording.bytesPerSession) },
  };
}

async function record(bundle: ProductionBundle): Promise<RecordedCall> {
  const worker = await observedWorker(bundle);
  const { db } = worker.running;
  const size = async () => (await db.prepare("SELECT 1").all()).meta.size_after;
  const empty = await size();
  await db.batch(oldRows().map((sql) => db.prepare(sql)));
  const bytesPerSession = ((await size()) - empty) / OLD_ROWS;
  const app = (await db.prepare("SELECT * FROM apps").first<RecordedCall["app"]>()) ?? {};
  const creates: RecordedCall["creates"] = [];
  for (let i = 0; i < WARMING + CREATES; i++) {
    for (const way of Object.keys(WAYS) as BenchWay[]) {
      await worker.forget();
      // Every second request has the customer of the request before it.
      await worker.create(signed(createFields({ sbs: `${way}_${i >> 1}` })), { module: WAYS[way] });
      const calls = (await worker.calls()).asked.filter(({ binding }) => binding === "DB");
      creates.push({ way, calls: calls.map(({ statements }) => statements) });
    }
  }
  await worker.running.close();
  return { creates, app, bytesPerSession };
}

/** Milliseconds of D1's work on a create_gd, for each way. */
async function replay(bundle: ProductionBundle, { creates, app }: RecordedCall): Promise<Record<BenchWay, number>> {
  const { url, pid, db, close } = await startWorker(bundle, [benchModule("replaying-worker.ts")]);
  const columns = Object.keys(app);
  const insertApp = `INSERT INTO apps (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`;
  await db.batch([...oldRows().map((sql) => db.prepare(sql)), db.prepare(insertApp).bind(...Object.values(app))]);
  const sessions = async () => Number(await db.prepare("SELECT count(*) AS n FROM sessions").first("n"));
  const before = await sessions();
  const took: Record<BenchWay, number[]> = { production: [], careful: [] };
  for (const [place, { way, calls }] of creates.entries()) {
    let ms = 0;
    const cpuOf = async (path: string, body: string) => {
      const before = cpuMs(pid);
      await load(url, [postBytes(path, body, {})], 1);
      return cpuMs(pid) - before;
    };
    for (const body of calls.map((call) => JSON.stringify(call))) {
      ms -= await cpuOf("/?skip", body);
      ms += await cpuOf("/", body);
    }
    if (place >= WARMING * 2) took[way].push(ms);
  }
  const count = (await sessions()) - before;
  await close();
  if (count !== creates.length) throw new Error(`asked again, the calls wrote ${count} sessions`);
  return { production: median(took.production), careful: median(took.careful) };
}

function oldRows(): string[] {
  const numbers = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${OLD_ROWS})`;
  // The ids of customers are scattered, so that pages fill as in real use.
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
