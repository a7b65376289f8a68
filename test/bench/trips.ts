import { AGENTS, addFields, appidOf, createFields, type Fields, signed } from "./bench-app.ts";
import type { Goal, Measurement } from "./measurement.ts";
import type { Call } from "./observed-bindings.ts";
import { observedWorker, PEERS } from "./observed-production.ts";
import type { Orders } from "./observed-worker.ts";
import type { ProductionBundle } from "./production-bundle.ts";

/** The delay that one call gets. An answer that awaits the call is late by as much. */
const STALL_MS = 300;
/**
 * The time limit of the KV look in this part. Production's is shorter than the noise; the part "The KV look" measures
 * it.
 */
const LOOK_MS = 100;
/**
 * A shorter delay is noise of the machine. It is two thirds of the shortest real wait, 15 ms for KV in a cold isolate.
 */
const NOISE_MS = 10;
const TRIES = 3;
/** Fresh modules, one for each cold request. */
const COPIES = 150;

/** Suffixes of the cases' names. */
const [WARM, KEYED] = [", warm", ", warm, with a key"];
const [HOT, MISS, DOWN] = [", cold, KV has the app", ", cold, KV has it not", ", cold, KV is down"];

/** How long an answer waits for one call. */
interface Wait {
  call: Call;
  kind: "awaited" | "bounded" | "not awaited";
  ms: number;
}

interface Case {
  name: string;
  /** D1 trips that the answer may await. */
  expected: number;
  waits: Wait[];
}

/**
 * Finds the D1 and KV calls that an answer waits for. It does not read the source: it delays one call at a time. An
 * answer that is late by the whole delay awaited the call. An answer that is late by less gave up on the call after a
 * time limit.
 */
export async function measureTrips(bundle: ProductionBundle): Promise<Measurement> {
  const vars = { REPLAY_LOOK_MS: String(LOOK_MS) };
  const worker = await observedWorker(bundle, { copies: COPIES, vars, homes: ["apac"] });
  const cases: Case[] = [];

  interface Request {
    path: "create_gd" | "add_kf";
    fields: Fields;
    headers?: Record<string, string>;
    orders?: Orders;
  }
  async function waitsOf(request: () => Promise<Request>): Promise<Wait[]> {
    const answerIn = async (stall?: { call: number; ms: number }) => {
      const { path, fields, headers = {}, orders = {} } = await request();
      const since = performance.now();
      await worker.call(path, signed(fields), { ...orders, record: true, ...(stall && { stall }) }, headers);
      // The delayed call itself is not awaited here: the Worker may drop it when its request ends.
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
  const add = async (name: string, expected: number, request: () => Promise<Request>) => {
    cases.push({ name, expected, waits: await waitsOf(request) });
  };

  for (const [home, siteId] of [
    ["main", 1],
    ["another home", 2],
  ] as const) {
    const appid = appidOf(siteId);
    const create = async () => ({ path: "create_gd" as const, fields: createFields({ appid }) });
    const chatId = async () => (await worker.call("create_gd", signed(createFields({ appid })))).data.chat_id as number;
    const keyed = (key: string) => ({ headers: { "idempotency-key": key } });
    await chatId();
    await add(`${home}: create${WARM}`, 1, create);
    if (siteId === 1) {
      await worker.call("create_gd", signed(createFields()), {}, { "idempotency-key": "repeated" });
      await add(`main: create${KEYED}`, 1, async () => ({ ...(await create()), ...keyed(crypto.randomUUID()) }));
      await add(`main: create, repeated${KEYED}`, 1, async () => ({
        ...(await create()),
        ...keyed("repeated"),
      }));
    }
    await add(`${home}: add${WARM}`, 1, async () => ({
      path: "add_kf",
      fields: addFields(await chatId(), AGENTS.slice(2, 3), { appid }),
    }));
    const cold = (orders: Orders) => async () => ({
      ...(await create()),
      orders: { ...orders, module: await worker.freshModule() },
    });
    const whole = siteId === 1 ? 2 : 3;
    await add(`${home}: create${HOT}`, 1, cold({}));
    await add(`${home}: create${MISS}`, whole, cold({ kvFault: "no-record" }));
    await add(`${home}: create${DOWN}`, whole, cold({ kvFault: "failing" }));
  }
  await worker.call("create_gd", signed(createFields()), { module: PEERS.careful });
  await add("the careful peer: create", 2, async () => ({
    path: "create_gd",
    fields: createFields(),
    orders: { module: PEERS.careful },
  }));
  await worker.running.close();

  const count = ({ waits }: Case, wanted: (wait: Wait) => boolean) => waits.filter(wanted).length;
  const awaited = (each: Case) => count(each, (wait) => wait.kind === "awaited" && isOfD1(wait));
  const counts = (what: string, goal: string, asked: Case[]): Goal => ({
    what: `D1 trips awaited, ${what}`,
    goal,
    result: [...new Set(asked.map(awaited))].join(", "),
    met: asked.every((each) => awaited(each) === each.expected),
    enforced: true,
  });
  const whose = (end: string) => cases.filter(({ name }) => name.endsWith(end));
  return {
    title: "Trips",
    tables: [
      {
        head: [
          "request",
          "D1 awaited",
          "D1 asked",
          "KV awaited",
          "KV reads",
          "waited for only so long",
          "not waited for",
        ],
        rows: cases.map((each) => [
          each.name,
          awaited(each),
          count(each, isOfD1),
          count(each, (wait) => wait.kind === "awaited" && !isOfD1(wait)),
          count(each, ({ call }) => call.method === "get"),
          list(
            each.waits.filter(({ kind }) => kind === "bounded"),
            ({ call, ms }) => `${text(call)}: ${Math.round(ms)} ms`,
          ),
          list(
            each.waits.filter(({ kind }) => kind === "not awaited"),
            ({ call }) => text(call),
          ),
        ]),
      },
    ],
    goals: [
      counts("warm", "1", [...whose(WARM), ...whose(KEYED)]),
      counts("in a cold isolate when KV has the app", "1", whose(HOT)),
      counts("in a cold isolate when KV has it not", "2, and 3 when the home is not the directory's", whose(MISS)),
      counts("in a cold isolate when KV is down", "2, and 3 when the home is not the directory's", whose(DOWN)),
    ],
    notes: [
      `Found by holding back one call at a time by ${STALL_MS} ms, ${TRIES} times each, with REPLAY_LOOK_MS at ${LOOK_MS} to make the KV look's limit visible; at the real ${bundle.vars.REPLAY_LOOK_MS} ms its cost is under "The KV look".`,
    ],
  };
}

const isOfD1 = ({ call }: Wait) => call.binding === "DB" || call.binding.startsWith("HOME_");
const text = ({ binding, method }: Call) => `${binding} ${method}`;
const list = <T>(items: T[], show: (item: T) => string) => (items.length === 0 ? "–" : items.map(show).join(", "));
