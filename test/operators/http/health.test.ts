import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { version } from "../../../package.json";
import { BINDING_RULE } from "../../../src/core/homes.ts";
import { closedHomeVars } from "../../support/closed-home-vars.ts";
import { Faults } from "../../support/faulty-bindings.ts";
import { Isolate, type ReplacedBindings } from "../../support/isolate.ts";
import { withoutWaiting } from "../../support/patient-fetch.ts";
import { replacing } from "../../support/replacing.ts";
import { answeringBy, NO_ROWS, PROMPT_HOME, silentHomes } from "../../support/silent-homes.ts";

afterEach(() => {
  // Timers come last: a restored mock puts back the timer that it replaced, which may be a fake one.
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const throwFault = () => {
  throw new Error("down");
};
const deadDb = replacing(env.DB, { prepare: throwFault });
const deadKv = (kv: KVNamespace) => replacing(kv, { get: async () => throwFault() });

async function healthz(world: Isolate): Promise<{ status: number; body: unknown }> {
  const response = await world.fetch(new Request("http://worker/healthz"));
  expect(response.headers.get("cache-control")).toBe("no-store");
  return { status: response.status, body: await response.json() };
}

/** A deployment with all bindings and no sites. test/operators/homes/broken-deployments.test.ts has one with sites. */
const deploy = (change: ReplacedBindings = {}) => new Isolate({ JOURNAL: env.JOURNAL as Queue, ...change });

/** The answer of a healthy deployment. */
const WELL = {
  status: "ok",
  version,
  directory: "ok",
  homes: { main: "ok", apac: "ok" },
  kv: "ok",
  queues: "ok",
  master_key: "off",
};

const answerOf = (change: object) => {
  const body = { ...WELL, ...change };
  return { status: body.status === "down" ? 503 : 200, body };
};

/** How often the first probe reads the directory, and how often a probe of the next minute, when the homes of sites are cached. */
const [FIRST, LATER] = [3, 2];
const escaped = (text: string) => text.replaceAll('"', "&quot;").replaceAll("'", "&#39;");

const OK = answerOf({});
const kvDown = (name: string) => answerOf({ status: "degraded", kv: "down", fault: `${name} does not answer.` });
const [MAIN_DOWN, APAC_DOWN] = [
  { main: "down", apac: "ok" },
  { main: "ok", apac: "down" },
];
/** Without the directory the master key cannot be checked. */
const DIRECTORY_DOWN = { status: "down", directory: "down", homes: MAIN_DOWN, master_key: "down" };

const deadQueue = (queue: Queue<never>) => replacing(queue, { metrics: async () => throwFault() });

describe("GET /healthz", () => {
  it.each<[string, ReplacedBindings, object]>([
    ["ok when all answer", {}, OK],
    ["degraded when NONCES fails", { NONCES: deadKv(env.NONCES) }, kvDown("NONCES")],
    ["degraded when CREDENTIALS fails", { CREDENTIALS: deadKv(env.CREDENTIALS) }, kvDown("CREDENTIALS")],
    ["degraded when KV throws at once", { NONCES: replacing(env.NONCES, { get: throwFault }) }, kvDown("NONCES")],
    ["ok when NONCES is not bound", { NONCES: undefined }, answerOf({ kv: "off" })],
    ["ok when CREDENTIALS is not bound", { CREDENTIALS: undefined }, answerOf({ kv: "off" })],
    [
      "degraded when one is not bound and the other fails",
      { NONCES: undefined, CREDENTIALS: deadKv(env.CREDENTIALS) },
      kvDown("CREDENTIALS"),
    ],
    ["ok when a queue is not bound", { EVENTS: undefined }, answerOf({ queues: "off" })],
    [
      "degraded when a queue fails",
      { JOURNAL: deadQueue(env.JOURNAL as Queue<never>) },
      answerOf({ status: "degraded", queues: "down", fault: "JOURNAL does not answer." }),
    ],
    ["ok when a queue cannot say how it is", { EVENTS: replacing(env.EVENTS, { metrics: undefined }) }, OK],
    [
      "degraded when a home other than main fails",
      { HOME_APAC: deadDb },
      answerOf({ status: "degraded", homes: APAC_DOWN }),
    ],
    [
      "degraded when a home was never migrated",
      { HOME_APAC: env.UNMIGRATED },
      answerOf({
        status: "degraded",
        homes: APAC_DOWN,
        fault: "The home apac is not migrated: npm run deploy migrates all databases.",
      }),
    ],
    ["down when the directory fails", { DB: deadDb }, answerOf(DIRECTORY_DOWN)],
    [
      "down when the directory was never migrated",
      { DB: env.UNMIGRATED },
      answerOf({
        ...DIRECTORY_DOWN,
        fault: "The home main is not migrated: npm run deploy migrates all databases.",
      }),
    ],
    [
      "down when all fail",
      { DB: deadDb, HOME_APAC: deadDb, NONCES: deadKv(env.NONCES), EVENTS: deadQueue(env.EVENTS as Queue<never>) },
      answerOf({
        ...DIRECTORY_DOWN,
        homes: { main: "down", apac: "down" },
        kv: "down",
        queues: "down",
        fault: "NONCES does not answer. EVENTS does not answer.",
      }),
    ],
    [
      "degraded when a home is closed, which is not asked",
      { ...closedHomeVars("apac"), HOME_APAC: deadDb },
      answerOf({ status: "degraded", homes: { main: "ok", apac: "closed" } }),
    ],
    [
      "degraded when main is closed and the directory answers",
      closedHomeVars("main"),
      answerOf({ status: "degraded", homes: { main: "closed", apac: "ok" } }),
    ],
    [
      "down when main is closed and the directory does not answer",
      { ...closedHomeVars("main"), DB: deadDb },
      answerOf({ ...DIRECTORY_DOWN, homes: { main: "closed", apac: "ok" } }),
    ],
  ])("/healthz is %s", async (_, change, expected) => {
    vi.spyOn(console, "warn").mockImplementation(() => {});
    vi.spyOn(console, "error").mockImplementation(() => {});
    expect(await healthz(deploy(change))).toEqual(expected);
  });

  it("/healthz shows only the home main when no other home is bound", async () => {
    expect(await healthz(deploy({ HOME_APAC: undefined }))).toEqual(answerOf({ homes: { main: "ok" } }));
  });

  /** Silent homes, followed by one that answers. */
  const worldWith = (count: number, onQuery = vi.fn(), NONCES?: KVNamespace) => {
    const silence = silentHomes(count);
    const prompt = { get: async () => null };
    const queue = { metrics: async () => ({}) };
    const world = deploy({
      ...silence.bindings,
      DB: answeringBy(async () => {
        onQuery();
        return NO_ROWS;
      }),
      EVENTS: replacing(env.EVENTS as Queue<never>, queue),
      JOURNAL: replacing(env.JOURNAL as Queue, queue),
      HOME_APAC: PROMPT_HOME,
      HOME_Z: PROMPT_HOME,
      NONCES: NONCES ?? replacing(env.NONCES, prompt),
      CREDENTIALS: replacing(env.CREDENTIALS, prompt),
    });
    return { world, silence };
  };

  it("/healthz waits only a limited time for a KV that hangs", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
    const hanging = replacing(env.NONCES, { get: () => new Promise<never>(() => {}) });
    const { world } = worldWith(0, undefined, hanging);
    const fault = "NONCES does not answer.";
    const expected = answerOf({ status: "degraded", homes: { ...WELL.homes, z: "ok" }, kv: "down", fault });
    expect(await withoutWaiting(healthz(world), { isSilent: true } as Faults)).toEqual(expected);
  });

  it("/healthz gives each home its full time, however many silent homes come before it", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
    const { world, silence } = worldWith(8);
    const answer = await withoutWaiting(healthz(world), { isSilent: true } as Faults);
    const homes = { main: "ok", apac: "ok", ...silence.states, z: "ok" };
    expect(answer).toEqual(answerOf({ status: "degraded", homes }));
    expect(silence.most()).toBeLessThanOrEqual(5);
  });

  it("/healthz ends within a probe's time limit and calls a home down that it could not reach in time", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
    const onQuery = vi.fn();
    const { world, silence } = worldWith(11, onQuery);
    const both = Promise.all([healthz(world), healthz(world)]);
    const answers = await withoutWaiting(both, new Faults());
    const homes = { main: "ok", apac: "ok", ...silence.states, z: "down" };
    const expected = answerOf({ status: "degraded", homes });
    expect(answers).toEqual([expected, expected]);
    expect(onQuery).toHaveBeenCalledTimes(FIRST);
  });

  it("/healthz checks at most every 5 s, and again when the clock went back", async () => {
    let queryCount = 0;
    const prepare = (sql: string) => {
      queryCount++;
      return env.DB.prepare(sql);
    };
    const world = deploy({ DB: replacing(env.DB, { prepare }) });
    const askedAt = async (seconds: number) => {
      world.clock.now += seconds;
      expect(await healthz(world)).toEqual(OK);
      return queryCount;
    };
    expect([await askedAt(0), await askedAt(0), await askedAt(4)]).toEqual([FIRST, FIRST, FIRST]);
    expect([await askedAt(1), await askedAt(4)]).toEqual([FIRST + LATER, FIRST + LATER]);
    expect(await askedAt(-3600)).toBe(FIRST + 2 * LATER);
  });

  it("/healthz checks once for all requests at the same time", async () => {
    let queryCount = 0;
    const rows = async () => {
      queryCount++;
      await scheduler.wait(50);
      return NO_ROWS;
    };
    const gets: string[] = [];
    const kv = (name: "NONCES" | "CREDENTIALS") => replacing(env[name], { get: async () => void gets.push(name) });
    const world = deploy({
      DB: answeringBy(rows),
      NONCES: kv("NONCES"),
      CREDENTIALS: kv("CREDENTIALS"),
    });
    const answers = await Promise.all(Array.from({ length: 20 }, () => healthz(world)));
    expect(new Set(answers.map((answer) => JSON.stringify(answer)))).toEqual(new Set([JSON.stringify(OK)]));
    expect([queryCount, gets.sort()]).toEqual([FIRST, ["CREDENTIALS", "NONCES"]]);
    world.clock.now += 5;
    await Promise.all(Array.from({ length: 20 }, () => healthz(world)));
    expect(queryCount).toBe(FIRST + LATER);
  });

  it("/healthz checks again, once, when the request that checked was cancelled", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
    let queryCount = 0;
    let isSilent = true;
    const rows = async () => {
      queryCount++;
      return isSilent ? new Promise<never>(() => {}) : NO_ROWS;
    };
    const world = deploy({ DB: answeringBy(rows) });
    // When the platform cancels a request, everything that it waits for ends, timers too.
    const timers = vi.spyOn(globalThis, "setTimeout").mockImplementation((() => 0) as never);
    void healthz(world);
    while (queryCount < FIRST) await scheduler.wait(1);
    timers.mockRestore();
    isSilent = false;
    queryCount = 0;
    vi.advanceTimersByTime(4_000);
    const others = Promise.all([healthz(world), healthz(world), healthz(world)]);
    const answers = await withoutWaiting(others, { isSilent: true } as Faults);
    expect(answers).toEqual([OK, OK, OK]);
    expect(await healthz(world)).toEqual(OK);
    expect(queryCount).toBe(FIRST);
  });

  it("/healthz shows a bad state for 5 s, and then the recovery", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    let down = true;
    const prepare = (sql: string) => (down ? throwFault() : env.DB.prepare(sql));
    const world = deploy({ DB: replacing(env.DB, { prepare }) });
    expect((await healthz(world)).status).toBe(503);
    down = false;
    expect((await healthz(world)).status).toBe(503);
    world.clock.now += 5;
    expect(await healthz(world)).toEqual(OK);
  });

  it("/healthz needs no token and shows only the state", async () => {
    vi.spyOn(console, "warn").mockImplementation(() => {});
    expect(await healthz(deploy({ ADMIN_TOKEN: undefined }))).toEqual(OK);
  });

  it.each<[ReplacedBindings, string]>([
    [{ MASTER_KEY: undefined }, "MASTER_KEY is not set"],
    [{ MASTER_KEY: btoa("x".repeat(32)) }, "MASTER_KEY is a placeholder"],
    [{ MASTER_KEY: "hunter 2!" }, "MASTER_KEY is not base64"],
    [{ MASTER_KEY_PREVIOUS: "AAAA" }, "MASTER_KEY_PREVIOUS must be 32 bytes in base64"],
    [{ DB: undefined }, "DB is not bound"],
    [{ ERROR_STATUS: "other" } as never, 'ERROR_STATUS must be "by-cause" or "always-200"'],
    [{ HOME__X: env.HOME_APAC }, `HOME__X is no home. ${BINDING_RULE}`],
  ])("/healthz is down and names the wrong setting, but not its value, with %j", async (change, fault) => {
    const [setting] = fault.split(" ");
    for (const isolate of [deploy(change), deploy(change)]) {
      expect(await healthz(isolate)).toEqual({ status: 503, body: { status: "down", version, setting, fault } });
      const page = await isolate.fetch(new Request("http://worker/console"));
      expect([page.status, await page.text()]).toEqual([500, expect.stringContaining(escaped(fault))]);
      const scrape = await isolate.admin("GET", "/admin/metrics");
      expect([scrape.status, await scrape.text()]).toEqual([500, expect.not.stringContaining("agent_session")]);
    }
  });
});
