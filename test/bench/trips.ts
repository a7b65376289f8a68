import { AGENTS, APP, addFields, createFields, type Fields, signed } from "./bench-app.ts";
import type { Measurement } from "./measurement.ts";
import type { Call } from "./observed-bindings.ts";
import { observedWorker, PEERS } from "./observed-production.ts";
import type { ProductionBundle } from "./production-bundle.ts";

/** A call is held back by this much; whoever awaits it answers that much later. */
const STALL_MS = 300;
/** The KV look's patience here, so that it shows: in production it is shorter than the noise, and measured under "The KV look". */
const LOOK_MS = 100;
/** Less than this is the machine's noise: half of the shortest wait there is, 50 ms for a cold isolate's credentials. */
const NOISE_MS = 25;
const TRIES = 3;

/** How far an answer waits for one call. */
interface Wait {
  call: Call;
  kind: "awaited" | "bounded" | "not awaited";
  ms: number;
}

/**
 * Which D1 and KV calls an answer waits for. Not read from the source but found by holding back one call at a time: an answer that
 * comes as much later awaited it, one that comes a little later waited only so long.
 */
export async function measureTrips(bundle: ProductionBundle): Promise<Measurement> {
  const worker = await observedWorker(bundle, { copies: 60, vars: { REPLAY_LOOK_MS: String(LOOK_MS) } });
  const cases: { name: string; warm: boolean; waits: Wait[] }[] = [];
  const add = async (name: string, warm: boolean, request: () => Promise<Request>) => {
    cases.push({ name, warm, waits: await waitsOf(request) });
  };

  interface Request {
    path: "create_gd" | "add_kf";
    fields: Fields;
    headers?: Record<string, string>;
    module?: string;
  }
  async function waitsOf(request: () => Promise<Request>): Promise<Wait[]> {
    const answerIn = async (stall?: { call: number; ms: number }) => {
      const { path, fields, headers = {}, module } = await request();
      const orders = { record: true, ...(stall && { stall }), ...(module !== undefined && { module }) };
      const since = performance.now();
      await worker.call(path, signed(fields), orders, headers);
      // Of a call held back there is nothing to wait for: it may be given up with its request.
      return { ms: performance.now() - since, calls: stall === undefined ? await worker.calls() : [] };
    };
    let usual = await answerIn();
    for (let i = 1; i < TRIES; i++) {
      const again = await answerIn();
      if (again.ms < usual.ms) usual = again;
    }
    const waits: Wait[] = [];
    for (const [place, call] of usual.calls.entries()) {
      let ms = Number.POSITIVE_INFINITY;
      for (let i = 0; i < TRIES; i++) {
        const held = await answerIn({ call: place, ms: STALL_MS });
        ms = Math.min(ms, held.ms - usual.ms);
      }
      waits.push({ call, ms, kind: ms > STALL_MS / 2 ? "awaited" : ms > NOISE_MS ? "bounded" : "not awaited" });
    }
    return waits;
  }

  const create = async (change: Fields = {}) => ({ path: "create_gd" as const, fields: createFields(change) });
  const chatId = async () => (await worker.call("create_gd", signed(createFields()))).data.chat_id as number;
  const keyed = (key: string) => ({ headers: { "idempotency-key": key } });
  await chatId();
  await worker.call("create_gd", signed(createFields()), {}, { "idempotency-key": "repeated" });
  await add("create", true, () => create());
  await add("create with a key", true, async () => ({ ...(await create()), ...keyed(crypto.randomUUID()) }));
  await add("create repeated under its key", true, async () => ({ ...(await create()), ...keyed("repeated") }));
  await add("add", true, async () => ({ path: "add_kf", fields: addFields(await chatId(), AGENTS.slice(2, 3)) }));
  const cold = async () => ({ ...(await create()), module: worker.freshModule() });
  await add("create, cold isolate", false, cold);
  await add("create, cold isolate, app not in KV", false, async () => {
    await worker.running.credentials.delete(`app:${APP.appid}`);
    return cold();
  });
  await worker.call("create_gd", signed(createFields()), { module: PEERS.careful });
  await add("the careful peer's create", false, async () => ({ ...(await create()), module: PEERS.careful }));
  await worker.running.close();

  const named = (waits: Wait[], kind: Wait["kind"], ofD1: boolean) =>
    waits.filter((wait) => wait.kind === kind && (wait.call.binding === "DB") === ofD1);
  const count = (waits: Wait[]) => named(waits, "awaited", true).length;
  const warmest = Math.max(...cases.filter((each) => each.warm).map((each) => count(each.waits)));
  return {
    title: "Trips",
    tables: [
      {
        head: ["request", "D1 awaited", "KV awaited", "waited for only so long", "not waited for"],
        rows: cases.map(({ name, waits }) => [
          name,
          count(waits),
          named(waits, "awaited", false).length,
          list(
            waits.filter(({ kind }) => kind === "bounded"),
            ({ call, ms }) => `${text(call)}: ${Math.round(ms)} ms`,
          ),
          list(
            waits.filter(({ kind }) => kind === "not awaited"),
            ({ call }) => text(call),
          ),
        ]),
      },
    ],
    goals: [{ what: "D1 trips awaited, warm", goal: "1", result: String(warmest), met: warmest === 1, enforced: true }],
    notes: [
      `Found by holding back one call at a time by ${STALL_MS} ms, ${TRIES} times each, with REPLAY_LOOK_MS at ${LOOK_MS} to make the KV look's limit visible; at the real ${bundle.vars.REPLAY_LOOK_MS} ms its cost is under "The KV look".`,
    ],
  };
}

const text = ({ binding, method }: Call) => `${binding} ${method}`;
const list = <T>(items: T[], show: (item: T) => string) => (items.length === 0 ? "–" : items.map(show).join(", "));
