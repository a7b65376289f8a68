import { createFields, signed } from "./bench-app.ts";
import { startEventsReceiver } from "./events-receiver.ts";
import type { Call } from "./observed-bindings.ts";
import { observedWorker } from "./observed-production.ts";
import type { ProductionBundle } from "./production-bundle.ts";
import { adminCall } from "./start-worker.ts";

/** D1 usage of one create, or of one delivery. */
export interface Counted {
  trips: number;
  statements: number;
  /** Bytes of SQL and values, as they are sent to D1. */
  bytes: number;
  rowsRead: number;
  rowsWritten: number;
}

export interface EventCounts {
  /** Without events: the Worker of the last release, and the current one. */
  before: Counted;
  without: Counted;
  /** With events: first without a webhook, then with one. */
  event: Counted;
  webhook: Counted;
  /** D1 usage of delivering one event: alone, and as one of many that were due together. */
  alone: Counted;
  together: Counted;
}

const TOGETHER = 20;

/** Counts on the new schema, for a new customer and two agents, in a warm isolate. */
export async function countEvents(bundle: ProductionBundle): Promise<EventCounts> {
  const worker = await observedWorker(bundle, { vars: { WEBHOOK_LOOPBACK: "allow" } });
  const { running } = worker;
  const receiver = await startEventsReceiver();
  const create = (module?: string, record = true) =>
    worker.call("create_gd", signed(createFields({ sbs: crypto.randomUUID() })), {
      record,
      ...(module !== undefined && { module }),
    });
  /** Counts the second of two creates. The first one's delivery must have ended, or it would be counted with the second's. */
  const counted = async (module?: string, firstEnded = async () => {}) => {
    await create(module);
    await firstEnded();
    await create(module);
    return countOf(await worker.calls());
  };
  try {
    for (let i = 0; i < 20; i++) await create();
    const before = await counted("./last-release.js");
    const without = await counted();
    await adminCall(running.url, "PATCH", "1", { events: true });
    const event = await counted();
    await adminCall(running.url, "POST", "1/webhooks", { url: receiver.url });
    await create();
    await delivered(running.db, 1);
    const webhook = await counted(undefined, () => delivered(running.db, 2));
    await delivered(running.db, 3);
    const alone = countOf(await worker.delivering());
    // Only the first request starts a recording. Each start would drop what was recorded before.
    await Promise.all(Array.from({ length: TOGETHER }, (_, i) => create(undefined, i === 0)));
    await delivered(running.db, 3 + TOGETHER);
    const together = countOf(await worker.delivering());
    const share = Object.fromEntries(Object.entries(together).map(([name, count]) => [name, count / TOGETHER]));
    return { before, without, event, webhook, alone, together: share as unknown as Counted };
  } finally {
    receiver.close();
    await running.close();
  }
}

/** Waits until the database has recorded that many deliveries as delivered, and nothing is in flight. */
async function delivered(db: D1Database, number: number): Promise<void> {
  const sql = "SELECT count(*) AS number FROM deliveries WHERE status = 'delivered'";
  for (const since = performance.now(); (await db.prepare(sql).first<number>("number")) !== number; ) {
    if (performance.now() - since > 60_000) throw new Error(`not ${number} events were delivered`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function countOf(calls: Call[]): Counted {
  const asked = calls.filter(({ statements }) => statements.length > 0);
  const sum = (count: (call: Call) => number) => asked.reduce((total, call) => total + count(call), 0);
  return {
    trips: asked.length,
    statements: sum(({ statements }) => statements.length),
    bytes: sum(({ statements }) => Buffer.byteLength(JSON.stringify(statements))),
    rowsRead: sum(({ rowsRead }) => rowsRead),
    rowsWritten: sum(({ rowsWritten }) => rowsWritten),
  };
}
