import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { bindingOfHome } from "../../../src/core/homes.ts";
import { OPERATIONS } from "../../../src/core/operations/index.ts";
import { type COMMON_REASONS, REFUSAL_REASONS } from "../../../src/core/signed/refusal-reasons.ts";
import { closedHomeVars } from "../../support/closed-home-vars.ts";
import { CountedLimit } from "../../support/counted-limit.ts";
import { downDb } from "../../support/down-db.ts";
import { eventually } from "../../support/eventually.ts";
import { Faults, faultyD1 } from "../../support/faulty-bindings.ts";
import { databaseOf } from "../../support/homes.ts";
import { JournalConsumer, journalOf, keepingJournal } from "../../support/journal.ts";
import { ranstrFor } from "../../support/ranstr-for.ts";
import { replacing } from "../../support/replacing.ts";
import { seedSession } from "../../support/seed-session.ts";
import { NOW, type ReplacedBindings, World } from "../../support/world.ts";

beforeEach(() => {
  for (const method of ["log", "warn", "error"] as const) vi.spyOn(console, method).mockImplementation(() => {});
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const FORGED = { "x-chat-signature": "0".repeat(64) };
const ANOTHER_KEY = btoa("another master key of 32 bytes!!");

/** The database of the world's home fails each batch and statement with this error. */
function failing(world: World, message: string): ReplacedBindings {
  const fail = () => {
    throw new Error(message);
  };
  const db = replacing(databaseOf(world.home), { prepare: fail, batch: fail });
  return { [bindingOfHome(world.home)]: db };
}

/** Makes a call that is refused. */
type Refuse = (world: World) => Promise<unknown>;

/** Sends one request twice: the second time to an isolate with these bindings. */
const again =
  (bindings: ReplacedBindings): Refuse =>
  async (world) => {
    const body = world.createBody();
    await world.send("create_gd", body);
    await world.anotherIsolate(bindings).send("create_gd", body);
  };

/** Makes two calls over a limit of one, and a third that the isolate refuses without asking the limiter. */
const overLimit =
  (limit: Pick<ReplacedBindings, "APP_LIMIT" | "SITE_LIMIT">, change: Record<string, unknown> = {}): Refuse =>
  async (world) => {
    const isolate = world.anotherIsolate(limit);
    // The journal sends a home one message a second.
    vi.useFakeTimers({ toFake: ["Date"] });
    for (let i = 0; i < 3; i++) {
      await isolate.create(change);
      vi.advanceTimersByTime(1_000);
    }
  };

const operate = async (world: World, method: string, path: string, body?: unknown) =>
  expect((await world.admin(method, path, body)).ok).toBe(true);

/** How each reason comes about. Without one of the reasons this file does not compile. */
const COMMON: Record<keyof typeof COMMON_REASONS, Refuse> = {
  signature_missing: (world) => world.sendRaw("create_gd", JSON.stringify(world.createBody())),
  signature_malformed: (world) => world.create({}, { "x-chat-signature": "00" }),
  signature_mismatch: (world) => world.create({}, FORGED),
  async app_unknown(world) {
    await databaseOf(world.home).prepare("DELETE FROM apps WHERE site_id = ?").bind(world.siteId).run();
    await world.anotherIsolate({ CREDENTIALS: undefined }).create();
  },
  async app_revoked(world) {
    await operate(world, "DELETE", `/admin/apps/${world.appid}`);
    await world.create();
  },
  async credentials_stale(world) {
    await world.chatId();
    await operate(world.anotherIsolate(), "POST", `/admin/apps/${world.appid}/rotate`, { overlap_seconds: 0 });
    await world.create();
  },
  timestamp_stale: (world) => world.create({ timestamp: NOW - 301 }),
  timestamp_ahead: (world) => world.create({ timestamp: NOW + 301 }),
  async ranstr_seen_here(world) {
    const body = world.createBody();
    for (let i = 0; i < 2; i++) await world.send("create_gd", body);
  },
  ranstr_seen_by_kv: again({ REPLAY_LOOK_MS: "1000" }),
  ranstr_claimed_in_d1: again({ NONCES: undefined }),
  fields_invalid: (world) => world.create({ content: "" }),
  idempotency_key_malformed: (world) => world.create({}, { "idempotency-key": "a b" }),
  drill_unknown: (world) => world.create({}, { "x-drill": "lost" }),
  async drill_busy(world) {
    await world.create({ ranstr: await ranstrFor(world.appid, "refused") }, { "x-drill": "busy" });
  },
  async key_reused(world) {
    for (const content of ["one", "another"]) await world.create({ content }, { "idempotency-key": "k" });
  },
  app_limit: overLimit({ APP_LIMIT: new CountedLimit(1) }),
  site_limit: overLimit({ SITE_LIMIT: new CountedLimit(1) }),
  malformed_limit: overLimit({ APP_LIMIT: new CountedLimit(1) }, { content: "" }),
  async client_limit(world) {
    const isolate = world.anotherIsolate({ CLIENT_LIMIT: new CountedLimit(0) });
    await isolate.create({}, FORGED);
  },
  async site_closed(world) {
    await operate(world, "PATCH", `/admin/sites/${world.siteId}`, { status: "closed" });
    await world.create();
  },
  home_closed: (world) => world.anotherIsolate(closedHomeVars(world.home)).create(),
  home_unbound: (world) => world.anotherIsolate({ [bindingOfHome(world.home)]: undefined }).create(),
  d1_unavailable: (world) =>
    world.anotherIsolate({ [bindingOfHome(world.home)]: downDb(databaseOf(world.home)) }).create(),
  async d1_stalled(world) {
    vi.useFakeTimers({ toFake: ["Date"] });
    const faults = new Faults(() => "never done");
    const db = faultyD1(databaseOf(world.home), faults);
    const isolate = world.anotherIsolate({ [bindingOfHome(world.home)]: db });
    const hanging: Promise<unknown>[] = [];
    const hang = async () => {
      const callsBefore = faults.calls.length;
      hanging.push(isolate.admin("GET", `/admin/sites/${world.siteId}/agents`));
      await eventually(() => expect(faults.calls.length).toBeGreaterThan(callsBefore));
    };
    for (const seconds of [0, 0, 0, 3, 3]) {
      vi.advanceTimersByTime(seconds * 1_000);
      await hang();
    }
    await isolate.create();
    await faults.end();
    await Promise.all(hanging);
  },
  async d1_answer_incomplete(world) {
    const batch = async () => [];
    const db = replacing(databaseOf(world.home), { batch });
    await world.anotherIsolate({ [bindingOfHome(world.home)]: db }).create();
  },
  d1_not_migrated: (world) =>
    world.anotherIsolate(failing(world, "D1_ERROR: no such column: apps.later: SQLITE_ERROR")).create(),
  d1_statement_refused: (world) =>
    world.anotherIsolate(failing(world, "D1_ERROR: wrong number of parameter bindings: SQLITE_ERROR")).create(),
  master_key_wrong: (world) => world.anotherIsolate({ MASTER_KEY: ANOTHER_KEY }).create(),
  configuration: (world) => world.anotherIsolate({ MASTER_KEY: "" }).create(),
  async unexpected(world) {
    const subtle = vi.spyOn(crypto.subtle, "verify").mockRejectedValueOnce(new TypeError("out of order"));
    await world.create();
    subtle.mockRestore();
  },
};

/** How each refusal of an operation comes about. A test below fails when a refusal is missing. */
const OF_OPERATIONS: Record<string, Refuse> = {
  agents_invalid: (world) => world.create({ kefu_id: [99], fzr_uid: 99 }),
  session_not_found: (world) => world.add(12_345),
  not_a_ticket: async (world) => world.add(await seedSession(world, { kind: "chat" })),
  no_responsible_agent: async (world) => world.add(await seedSession(world, { responsibleAgentId: null })),
  no_new_agents: async (world) => world.add(await world.chatId({ kefu_id: [1], fzr_uid: 1 }), { kefu_ids: "1" }),
};

/** A world whose refused calls reach the journals when `journal` is called. */
async function journaled(home: string, bindings: ReplacedBindings = {}) {
  const { sent, JOURNAL } = keepingJournal();
  const world = await World.create({ JOURNAL, ...bindings }, home);
  const journal = async () => {
    await new JournalConsumer().write(sent.splice(0));
    return journalOf(world);
  };
  return { world, journal };
}

/** Reasons that can refuse a call before its app's record is read. Then only the directory knows the app's site. */
const WITHOUT_RECORD = Object.keys(COMMON).filter((reason) =>
  /^(home|d1|master|configuration|app_unknown)/.test(reason),
);
/** In `main` these faults are the directory's own, so it cannot answer either. */
const OF_DIRECTORY = /^(home_unbound|d1_)/;
/** For these reasons no secret has verified. A secret that a rotation ended may have signed the call. */
const UNVERIFIED = /^(signature_|app_(unknown|revoked)|credentials_|client_)/;

describe("the journal row of a refused call", () => {
  const ways: Record<string, Refuse> = { ...COMMON, ...OF_OPERATIONS };
  const cold = WITHOUT_RECORD.flatMap((reason) =>
    ["apac", ...(OF_DIRECTORY.test(reason) ? [] : ["main"])].map((home) => [reason, home] as const),
  );

  it("every reason of a refusal has a case in the test of the journal's rows", () => {
    expect(Object.keys(ways).sort()).toEqual([...REFUSAL_REASONS].sort());
    expect(OPERATIONS.flatMap(({ refusals }) => Object.keys(refusals)).filter((each) => !(each in ways))).toEqual([]);
  });

  it.each([
    ...Object.keys(ways).map((reason) => [reason, "apac", "with KV", {}] as const),
    ...cold.map(([reason, home]) => [reason, home, "without KV", { CREDENTIALS: undefined }] as const),
  ])("a call refused for %s in %s, %s, leaves its journal row", async (reason, home, _, bindings) => {
    const { world, journal } = await journaled(home, bindings);
    await ways[reason]?.(world);
    const rows = (await journal()).filter((row) => row.reason === reason);
    expect(rows).toMatchObject([{ appid: world.appid, skipped: 0, ...(UNVERIFIED.test(reason) && { secret: null }) }]);
  });

  it.each(["signature_mismatch", "credentials_stale"] as const)(
    "a call refused for %s leaves its journal row when a restore removed the app from its home",
    async (reason) => {
      const { world, journal } = await journaled("apac");
      await world.chatId();
      await databaseOf(world.home).prepare("DELETE FROM apps WHERE site_id = ?").bind(world.siteId).run();
      await world.create({}, reason === "signature_mismatch" ? FORGED : {});
      expect((await journal()).map((row) => row.reason)).toEqual([reason]);
    },
  );
});

describe("a call that a wrong setting refuses", () => {
  it.each<ReplacedBindings>([
    { MASTER_KEY: undefined },
    { MASTER_KEY: btoa("\0".repeat(32)) },
    { TIMESTAMP_TOLERANCE_SECONDS: "five" },
    { ERROR_STATUS: "sometimes" },
  ])(
    "a call refused for a wrong setting leaves its journal row, written by a consumer with the same setting: %o",
    async (wrong) => {
      for (const home of ["main", "apac"]) {
        const { sent, JOURNAL } = keepingJournal();
        const world = await World.create({ JOURNAL }, home);
        const isolate = world.anotherIsolate(wrong);
        for (let i = 0; i < 2; i++) expect((await isolate.create()).status).toBe(500);
        await isolate.create({ appid: "nobodys" });
        await isolate.sendRaw("create_gd", "{");
        await new JournalConsumer(wrong).write(sent);
        const row = { reason: "configuration", status: 500, secret: null };
        expect(await journalOf(world)).toMatchObject([row, row]);
        expect(await world.stored()).toMatchObject({ sessions: [], nonces: [] });
      }
    },
  );
});

describe("the lookups of calls that a wrong setting refuses", () => {
  it("an address that invents appids gets no more app lookups, and its calls of known apps get journal rows later", async () => {
    const { world, journal } = await journaled("apac", { MASTER_KEY: undefined, CLIENT_LIMIT: new CountedLimit(1) });
    for (let i = 0; i < 2; i++) await world.create({ appid: `nobodys-${i}` });
    const { headers } = await world.create();
    expect(await journal()).toEqual([]);
    world.clock.now += 61;
    await world.create();
    expect(await journal()).toMatchObject([{ requestId: headers.get("x-request-id") }, { reason: "configuration" }]);
  });
});

describe("a refused call whose app could not be looked up", () => {
  it("a refused call whose app is unknown while the directory is down gets its journal row with a later call", async () => {
    const { world, journal } = await journaled("apac", { CREDENTIALS: undefined });
    const state = { isDown: true };
    const down = downDb(env.DB);
    const DB = new Proxy(env.DB, {
      get(target, name) {
        const value = Reflect.get(state.isDown ? down : target, name) as unknown;
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    const isolate = world.anotherIsolate({ DB });
    for (let i = 0; i < 3; i++) expect((await isolate.create()).status).toBe(503);
    expect(await journal()).toEqual([]);
    state.isDown = false;
    expect((await isolate.create()).status).toBe(200);
    expect(await journal()).toMatchObject([{ reason: "d1_unavailable", skipped: 2, secret: null }]);
  });

  it("a refused call gets its journal row later when its client was over the limit of failures", async () => {
    const { world, journal } = await journaled("apac");
    const isolate = world.anotherIsolate({ CLIENT_LIMIT: new CountedLimit(1) });
    for (let i = 0; i < 2; i++) await isolate.create({ appid: `nobodys-${i}` });
    await env.CREDENTIALS.delete(`app:${world.appid}`);
    // No call is chosen at random for a lookup.
    const chance = vi.spyOn(Math, "random").mockReturnValue(1);
    expect((await isolate.create()).status).toBe(429);
    chance.mockRestore();
    isolate.clock.now += 61;
    expect((await isolate.create()).status).toBe(200);
    expect(await journal()).toMatchObject([{ reason: "client_limit", skipped: 0 }]);
  });

  it("a refused call leaves no journal row when its app does not exist or its site ends meanwhile", async () => {
    const { world, journal } = await journaled("apac");
    const isolate = world.anotherIsolate({ CLIENT_LIMIT: new CountedLimit(1) });
    for (let i = 0; i < 3; i++) await isolate.create({ appid: "nobodys" });
    isolate.clock.now += 61;
    await isolate.create({ appid: "nobodys" });
    await isolate.create();
    expect(await journal()).toEqual([]);
    await databaseOf(world.home).prepare("DELETE FROM apps WHERE site_id = ?").bind(world.siteId).run();
    await world.anotherIsolate().create();
    await databaseOf(world.home)
      .prepare("INSERT INTO site_deletions (site_id, id, home, begun_at) VALUES (?, 'deletion', ?, 0)")
      .bind(world.siteId, world.home)
      .run();
    expect(await journal()).toEqual([]);
  });
});
