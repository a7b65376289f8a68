import { applyD1Migrations, createScheduledController } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Bindings } from "../../../src/core/config.ts";
import { createWorker } from "../../../src/worker.ts";
import { closedHomeVars } from "../../support/closed-home-vars.ts";
import { ConsoleVisitor } from "../../support/console-visitor.ts";
import { downDb } from "../../support/down-db.ts";
import { replacing } from "../../support/replacing.ts";
import { runtimeAt } from "../../support/test-runtime.ts";
import { scrape } from "../../support/usage.ts";
import { NOW, type ReplacedBindings, World } from "../../support/world.ts";

/**
 * Each broken deployment of docs/paged.md, and what /healthz, the cron, a scrape and the front page say of it.
 * docs/prometheus/alerts.test.yml has the alerts.
 */

const WRONG = Uint8Array.fromBase64(env.MASTER_KEY).toReversed().toBase64();
/** Between two runs of the cron, and before AgentSessionHomeSilent alerts. */
const LATER = NOW + 1_200;

let world: World;
let visitor: ConsoleVisitor;

const cronAt = (now: number, bindings: ReplacedBindings) => {
  const worker = createWorker(runtimeAt(() => now * 1000));
  const controller = createScheduledController({ cron: "*/5 * * * *", scheduledTime: now * 1000 });
  return Promise.resolve(worker.scheduled(controller, { ...world.env, ...bindings } as Bindings)).then(
    () => "ok",
    (error: Error) => error.message,
  );
};

beforeAll(async () => {
  await applyD1Migrations(env.UNMIGRATED, env.MIGRATIONS.slice(0, -1));
  // One site in each home; the front page lists both.
  await World.create();
  world = await World.create({ JOURNAL: env.JOURNAL }, "apac");
  visitor = await ConsoleVisitor.signedIn(world);
  expect(await cronAt(NOW, {})).toBe("ok");
});

beforeEach(async () => {
  for (const stream of ["log", "warn", "error"] as const) vi.spyOn(console, stream).mockImplementation(() => {});
  // The state right after a run of the cron.
  await env.DB.exec(`UPDATE home_metrics SET at = ${NOW}`);
});

afterEach(() => void vi.restoreAllMocks());

const part = (name: string, state: string) => ({ [`agent_session_part_state{part="${name}",state="${state}"}`]: 1 });
const home = (what: string, name: string, value: number | undefined) => ({
  [`agent_session_home_${what}{home="${name}"}`]: value,
});
const silent = (name: string) => home("silence_seconds", name, LATER - NOW);
const NO_ANSWER = { status: 503, page: "The database does not answer" };

interface Seen {
  /** The status of /healthz, and the fields that differ from those of a healthy deployment. */
  health: [status: number, body: object];
  /** What the cron throws. */
  cron: string;
  /** Samples of a scrape after that cron; undefined when the scrape fails. */
  scraped: Record<string, number | undefined> | undefined;
  front: { status: number; page: string };
  /** The badge of the site in apac, on the front page and on the site's own page; undefined when the front page is an error page. */
  state?: string;
}

const degraded = (body: object): Seen["health"] => [200, { status: "degraded", ...body }];
const pageOf = (page: string) => ({ status: 200, page });
const QUEUE_GONE = { metrics: async () => Promise.reject(new Error("Queue not found")) };

const BROKEN: [string, ReplacedBindings, Seen][] = [
  [
    "a wrong key",
    { MASTER_KEY: WRONG },
    {
      health: degraded({
        master_key: "down",
        fault:
          "MASTER_KEY does not open what is sealed here: set the key that sealed it, or that one as MASTER_KEY_PREVIOUS.",
      }),
      cron: "what is sealed: MASTER_KEY does not open it",
      scraped: part("master_key", "down"),
      front: pageOf("Wrong key MASTER_KEY does not open what is sealed"),
      state: "Wrong key",
    },
  ],
  [
    "no key",
    { MASTER_KEY: undefined },
    {
      health: [503, { status: "down", setting: "MASTER_KEY", fault: "MASTER_KEY is not set" }],
      cron: "MASTER_KEY is not set",
      scraped: undefined,
      front: { status: 500, page: "MASTER_KEY is not set" },
    },
  ],
  [
    "apac closed",
    closedHomeVars("apac"),
    {
      health: degraded({ homes: { main: "ok", apac: "closed" } }),
      cron: "ok",
      scraped: { ...home("closed", "main", 0), ...home("closed", "apac", 1) },
      front: pageOf("Home closed apac is closed"),
      state: "Home closed",
    },
  ],
  [
    "main closed",
    closedHomeVars("main"),
    {
      health: degraded({ homes: { main: "closed", apac: "ok" } }),
      cron: "ok",
      scraped: { ...home("closed", "main", 1), ...home("closed", "apac", 0) },
      front: pageOf("Home closed main is closed"),
      state: "Open",
    },
  ],
  [
    "apac silent",
    { HOME_APAC: downDb(env.HOME_APAC) },
    {
      health: degraded({ homes: { main: "ok", apac: "down" } }),
      cron: expect.stringContaining("not pruned: apac."),
      scraped: silent("apac"),
      front: pageOf("No answer apac did not answer within a second"),
      state: "No answer",
    },
  ],
  [
    "main silent",
    { DB: downDb(env.DB) },
    {
      health: [503, { status: "down", directory: "down", homes: { main: "down", apac: "ok" }, master_key: "down" }],
      cron: expect.stringContaining("not pruned: main."),
      scraped: undefined,
      front: NO_ANSWER,
    },
  ],
  [
    "no KV",
    { NONCES: undefined, CREDENTIALS: undefined },
    {
      health: [200, { kv: "off" }],
      cron: "ok",
      scraped: { ...part("nonces", "off"), ...part("credentials", "off") },
      front: pageOf("CREDENTIALS is not bound"),
      state: "Open",
    },
  ],
  [
    "no NONCES, as on Workers Free, and CREDENTIALS not lost",
    { NONCES: undefined },
    {
      health: [200, { kv: "off" }],
      cron: "ok",
      scraped: { ...part("nonces", "off"), ...part("credentials", "ok") },
      front: pageOf("NONCES is not bound"),
      state: "Open",
    },
  ],
  [
    "a queue gone",
    { EVENTS: replacing(env.EVENTS as Queue<never>, QUEUE_GONE) },
    {
      health: degraded({ queues: "down", fault: "EVENTS does not answer." }),
      cron: "ok",
      scraped: { ...part("events", "down"), ...part("journal", "ok") },
      front: pageOf("Queue down EVENTS does not answer"),
      state: "Open",
    },
  ],
  [
    "apac not migrated",
    { HOME_APAC: env.UNMIGRATED },
    {
      health: degraded({
        homes: { main: "ok", apac: "down" },
        fault: "The home apac is not migrated: npm run deploy migrates all databases.",
      }),
      cron: expect.stringContaining("not pruned: apac."),
      scraped: silent("apac"),
      front: pageOf("Not migrated apac lacks a migration of this release"),
      state: "Not migrated",
    },
  ],
  [
    "apac not bound",
    { HOME_APAC: undefined },
    {
      health: degraded({
        homes: { main: "ok", apac: "down" },
        fault: "The home apac has no database: bind it as HOME_APAC.",
      }),
      cron: "ok",
      scraped: { ...home("silence_seconds", "apac", Infinity), ...home("closed", "apac", undefined) },
      front: pageOf("Not bound apac has no database"),
      state: "Not bound",
    },
  ],
];

describe.each(BROKEN)("%s", (_, bindings, { health, cron, scraped, front, state }) => {
  it("a broken deployment shows in /healthz, the cron, a scrape, the front page and the site's page", async () => {
    const well = await world.fetch(new Request("http://worker/healthz"));
    const { homes, ...whole } = await well.json<Record<string, object>>();
    expect([well.status, whole]).toMatchObject([200, { status: "ok", kv: "ok", queues: "ok", master_key: "ok" }]);
    const [status, body] = health;
    const brokenVisitor = visitor.through(world.anotherIsolate(bindings));
    const page = await brokenVisitor.open("/console");
    expect([page.status, page.text]).toEqual([front.status, expect.stringContaining(front.page)]);
    expect(page.text.includes("Nothing needs attention")).toBe(!("status" in body));
    expect(page.rows.find(([, id]) => id === String(world.siteId))?.[3]).toBe(state);
    const site = await brokenVisitor.open(`/console/sites/${world.siteId}`);
    if (site.status === 200) {
      expect(/Home apac (.+?) Overview/.exec(site.text)?.[1] ?? state).toBe(state);
      expect(site.text.includes("Nothing needs attention")).toBe(
        state === "Open" && !front.page.startsWith("Queue down"),
      );
    }
    for (let time = 1; time <= 2; time++) {
      const isolate = world.anotherIsolate(bindings);
      const answer = await isolate.fetch(new Request("http://worker/healthz"));
      const expectedBody = status === 503 && "setting" in body ? { version: whole.version } : { ...whole, homes };
      expect([answer.status, await answer.json()]).toEqual([status, { ...expectedBody, ...body }]);
      expect(await cronAt(LATER, bindings)).toEqual(cron);
      isolate.clock.now = LATER;
      if (scraped === undefined) expect((await isolate.admin("GET", "/admin/metrics")).status).toBeGreaterThan(499);
      else {
        const samples = await scrape(isolate);
        expect(Object.fromEntries(Object.keys(scraped).map((name) => [name, samples[name]]))).toEqual(scraped);
      }
    }
  });

  it("a page of a site of a broken deployment calls the site open only when it looked for trouble and found none", async () => {
    const path = `/console/sites/${world.siteId}`;
    const brokenVisitor = visitor.through(world.anotherIsolate(bindings));
    const calledOpen = [];
    for (const tab of ["", "/sessions", "/apps", "/webhooks", "/refusals", "/audit", "/settings", "/apps/unknown"]) {
      if (/badge good[^>]*>Open</.test((await brokenVisitor.open(path + tab)).html)) calledOpen.push(tab);
    }
    expect(calledOpen).toEqual(state === "Open" ? [""] : []);
  });
});
