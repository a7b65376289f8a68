import { createFields, signed } from "./bench-app.ts";
import type { ResultsOf } from "./bench-part.ts";
import { startEventsReceiver } from "./events-receiver.ts";
import type { Call } from "./observed-bindings.ts";
import { observedWorker } from "./observed-production.ts";
import type { ProductionBundle } from "./production-bundle.ts";
import { adminCall } from "./start-worker.ts";

const WEEK_MS = 7 * 86_400_000;
/** The number of pruned rows. It is large, so that the few rows in which pruning counts them hardly change the result. */
const PRUNED = 100;

/** The rows that D1 reports for a create_gd of a new customer with two agents, for the delivery of its event, and for pruning. */
export async function countRows(bundle: ProductionBundle): Promise<ResultsOf<"rows">> {
  const worker = await observedWorker(bundle);
  const { db, url } = worker.running;
  const receiver = await startEventsReceiver();
  const nonces = async () => Number(await db.prepare("SELECT count(*) AS n FROM nonces").first("n"));
  /** The calls of the last of a few requests. The first ones warm the isolate and fill the tables. */
  const create = async (key?: string) => {
    for (let timesLeft = 3; timesLeft >= 0; timesLeft--) {
      await worker.forget();
      await worker.create(signed(createFields({ sbs: crypto.randomUUID() })), {}, timesLeft === 0 ? key : undefined);
      await waitForDeliveries(db);
    }
    return worker.calls();
  };
  try {
    const { asked: plain } = await create();
    const { asked: keyed } = await create(crypto.randomUUID());
    for (let i = 0; i < PRUNED; i++) await worker.create(signed(createFields()));
    const before = await nonces();
    await worker.forget();
    await worker.prune(Date.now() + WEEK_MS);
    const pruning = (await worker.calls()).asked.filter(({ statements }) =>
      statements.some(({ sql }) => /^delete from "nonces"/i.test(sql)),
    );
    const prunedCount = before - (await nonces());
    await adminCall(url, "PATCH", "1", { events: true });
    const { asked: event } = await create();
    await adminCall(url, "POST", "1/webhooks", { url: receiver.url });
    const { asked: webhook, delivering } = await create();
    const sumWritten = (calls: Call[]) => ({ value: sum(calls.map(({ rowsWritten }) => rowsWritten)) });
    const kv = (method: string) => ({ value: plain.filter((call) => call.method === method).length });
    return {
      "rows.written": sumWritten(plain),
      "rows.read": { value: sum(plain.map(({ rowsRead }) => rowsRead)) },
      "rows.kv-reads": kv("get"),
      "rows.kv-writes": kv("put"),
      "rows.pruned": { value: Math.round(sumWritten(pruning).value / prunedCount) },
      "rows.keyed": sumWritten(keyed),
      "rows.event": sumWritten(event),
      "rows.webhook": sumWritten(webhook),
      "rows.delivery": sumWritten(delivering),
    };
  } finally {
    receiver.close();
    await worker.running.close();
  }
}

/** Waits until no delivery is under way. */
async function waitForDeliveries(db: D1Database): Promise<void> {
  const sql = "SELECT count(*) AS n FROM deliveries WHERE status = 'pending'";
  for (const since = performance.now(); (await db.prepare(sql).first("n")) !== 0; ) {
    if (performance.now() - since > 60_000) throw new Error("an event was not delivered");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const sum = (numbers: number[]): number => numbers.reduce((total, each) => total + each, 0);
