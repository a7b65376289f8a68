import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { countingDb } from "../../support/counting-db.ts";
import { replacing } from "../../support/replacing.ts";
import {
  expectAccepted,
  expectAdded,
  expectTokenInvalid,
  INVALID_PARAMETERS,
  rowsAdded,
  type SignedRoute,
  TOKEN_INVALID,
} from "../../support/signed-routes.ts";
import { staleKv } from "../../support/stale-kv.ts";
import { type Body, NOW, type ReplacedBindings, World } from "../../support/world.ts";

/** The same rules must hold for every state of KV, because KV never decides. */
const KV_STATES: [string, () => ReplacedBindings][] = [
  ["KV knows", () => ({ REPLAY_LOOK_MS: "1000" })],
  ["KV is not bound", () => ({ NONCES: undefined })],
  ["KV still answers its first miss", () => ({ NONCES: staleKv(env.NONCES), REPLAY_LOOK_MS: "1000" })],
  ["KV is not waited for", () => ({ REPLAY_LOOK_MS: "0" })],
];

/** Tests of freshness and of the single use of each ranstr, for one route. Design: docs/decisions.md. */
export function replaySuite(route: SignedRoute): void {
  const { operation } = route;
  let world: World;
  beforeAll(async () => {
    world = await World.create();
  });

  describe("timestamp", () => {
    it.each([-300, 300])("a timestamp %i seconds off is accepted", async (off) => {
      const body = await route.acceptable(world, { timestamp: NOW + off });
      await expectAccepted(world, route, () => world.send(operation, body));
    });

    it.each([-301, 301, -NOW])("a timestamp %i seconds off is refused, and the ranstr stays unused", async (off) => {
      const body = await route.acceptable(world);
      // Only the accepted request wrote rows; the refused request wrote none.
      await expectAccepted(world, route, async () => {
        const { status, envelope, headers } = await world.send(operation, { ...body, timestamp: NOW + off });
        expect({ status, envelope }).toEqual({ status: 401, envelope: TOKEN_INVALID });
        expect(headers.get("x-error-detail")).toBe(`timestamp: must be within 300 s of ${NOW}, Unix seconds`);
        return world.send(operation, body);
      });
    });

    it.each([
      ["milliseconds", NOW * 1e3, 401, `within 300 s of ${NOW}, Unix seconds, not milliseconds`],
      ["microseconds", NOW * 1e6, 401, `within 300 s of ${NOW}, Unix seconds, not microseconds`],
      ["nanoseconds", NOW * 1e9, 400, "an integer, Unix seconds, not nanoseconds"],
      [".NET's ticks", 639_155_880_000_000_000, 400, "an integer, Unix seconds, not ticks of 100 ns"],
      ["milliseconds with a fraction", NOW * 1e3 + 0.5, 400, "an integer, Unix seconds, not milliseconds"],
      ["digits of a date", 20261130105500, 401, `within 300 s of ${NOW}, Unix seconds, not a date in digits`],
      [
        "digits of a date to the minute",
        202611301055,
        401,
        `within 300 s of ${NOW}, Unix seconds, not a date in digits`,
      ],
      ["digits of a day", 20261130, 401, `within 300 s of ${NOW}, Unix seconds, not a date in digits`],
      ["a date", "2026-11-30T10:55:00Z", 400, "an integer, Unix seconds, not a string"],
    ])("the detail names the unit of a timestamp that was sent as %s", async (_, timestamp, status, rule) => {
      const body = await route.acceptable(world);
      const answer = await world.send(operation, { ...body, timestamp });
      expect([answer.status, answer.headers.get("x-error-detail")]).toEqual([status, `timestamp: must be ${rule}`]);
    });

    it("a timestamp is checked against TIMESTAMP_TOLERANCE_SECONDS", async () => {
      const isolate = world.anotherIsolate({ TIMESTAMP_TOLERANCE_SECONDS: "10" });
      const body = await route.acceptable(world);
      const at = (off: number) => isolate.send(operation, { ...body, timestamp: NOW + off });
      await expectTokenInvalid(world, () => at(-11));
      await expectTokenInvalid(world, () => at(11));
      await expectAccepted(world, route, () => at(-10));
    });

    it.each([
      ["missing", { timestamp: undefined }],
      ["a string", { timestamp: String(NOW) }],
      ["a fraction", { timestamp: NOW + 0.5 }],
      ["null", { timestamp: null }],
      ["past 2^53", { timestamp: 2 ** 53 }],
    ])("a timestamp is 参数错误 when %s, and the ranstr stays unused", async (_, change) =>
      refusesField(change, "timestamp"),
    );
  });

  describe("ranstr", () => {
    it.each([["r"], ["漢".repeat(128)], ["👍🏽".repeat(64)], ["."], ["\0"], [" "]])(
      "a ranstr of 1 to 128 characters is accepted: %.8s",
      async (ranstr) => {
        const body = await route.acceptable(world, { ranstr });
        await expectAccepted(world, route, () => world.send(operation, body));
        await expectTokenInvalid(world, () => world.send(operation, body));
      },
    );

    it.each([
      ["missing", { ranstr: undefined }],
      ["empty", { ranstr: "" }],
      ["129 characters", { ranstr: "x".repeat(129) }],
      ["a number", { ranstr: 12345 }],
      ["null", { ranstr: null }],
      ["a lone surrogate", { ranstr: "\ud800" }],
    ])("a ranstr is 参数错误 when %s", async (_, change) => refusesField(change, "ranstr"));

    it("a ranstr counts separately for each appid, by its exact characters", async () => {
      const other = await World.create();
      for (const [of, ranstr] of [
        [world, "abc"],
        [world, "ABC"],
        [other, "abc"],
      ] as const) {
        const body = await route.acceptable(of, { ranstr });
        await expectAccepted(of, route, () => of.send(operation, body));
      }
    });
  });

  async function refusesField(change: Body, field: string): Promise<void> {
    const body = await route.acceptable(world);
    await expectAccepted(world, route, async () => {
      const { status, envelope, headers } = await world.send(operation, { ...body, ...change });
      expect({ status, envelope }).toEqual({ status: 400, envelope: INVALID_PARAMETERS });
      expect(headers.get("x-error-detail")).toMatch(new RegExp(`^${field}: `));
      return world.send(operation, body);
    });
  }

  describe.each(KV_STATES)("replay, when %s", (_, bindings) => {
    let inState: World;
    beforeAll(async () => {
      inState = await World.create(bindings());
    });

    it("a replay is refused with the same bytes, and with other bytes under the same ranstr", async () => {
      const body = await route.acceptable(inState);
      await expectAccepted(inState, route, () => inState.send(operation, body));
      const { headers } = await expectTokenInvalid(inState, () => inState.send(operation, body));
      expect(headers.get("x-error-detail")).toBe("ranstr: was already used");
      await expectTokenInvalid(inState, () => inState.send(operation, body, { "idempotency-key": "k" }));
      const another = await route.acceptable(inState, { ranstr: body.ranstr });
      await expectTokenInvalid(inState, () => inState.send(operation, another));
      await expectTokenInvalid(inState, () => inState.anotherIsolate().send(operation, body));
    });

    it("a replay of a call that the operation refused is refused too, and writes nothing", async () => {
      const body = await route.refusable(inState);
      const before = await inState.stored();
      const refused = await inState.send(operation, body);
      expect(refused.envelope).toMatchObject({ code: -1, data: "" });
      expect(refused.status).not.toBe(401);
      expect(rowsAdded(before, await inState.stored())).toEqual({ nonces: 1 });
      const good = await route.acceptable(inState, { ranstr: body.ranstr });
      await expectTokenInvalid(inState, () => inState.send(operation, body));
      await expectTokenInvalid(inState, () => inState.send(operation, good));
    });

    it("one of 20 identical requests over two isolates is accepted, with one x-request-id", async () => {
      const isolates = [inState, inState.anotherIsolate()] as const;
      const body = JSON.stringify(await route.acceptable(inState));
      const before = await inState.stored();
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_each, i) =>
          isolates[i % 2 === 0 ? 0 : 1].send(operation, body, { "x-request-id": "one-and-the-same" }),
        ),
      );
      expect(answers.filter(({ status, envelope }) => status === 200 && envelope.code === 1)).toHaveLength(1);
      const others = answers.filter(({ status }) => status !== 200).map(({ envelope }) => envelope);
      expect(others).toEqual(Array(19).fill(TOKEN_INVALID));
      expectAdded(route, before, await inState.stored());
      expect(new Set(answers.map(({ headers }) => headers.get("x-request-id"))).size).toBe(20);
    });
  });

  it("a used request that became stale is refused, even with the highest tolerance and pruned nonces", async () => {
    const world = await World.create({ NONCES: undefined, TIMESTAMP_TOLERANCE_SECONDS: "0" });
    const body = await route.acceptable(world);
    await expectAccepted(world, route, () => world.send(operation, body));
    const raised = world.anotherIsolate({ TIMESTAMP_TOLERANCE_SECONDS: "900" });
    for (const later of [61, 661, 900]) {
      raised.clock.now = NOW + later;
      await env.DB.prepare("DELETE FROM nonces WHERE expires_at <= ?").bind(raised.clock.now).run();
      await expectTokenInvalid(raised, () => raised.anotherIsolate().send(operation, body));
    }
  });

  it("a replay that this isolate has seen costs no call of KV and no call of the database", async () => {
    const { db, trips } = countingDb(env.DB);
    const kvCalls: string[] = [];
    const counting =
      (name: "get" | "put") =>
      (...args: [string]) => {
        kvCalls.push(name);
        return (env.NONCES[name] as (...args: [string]) => Promise<unknown>).apply(env.NONCES, args);
      };
    const NONCES = replacing(env.NONCES, { get: counting("get"), put: counting("put") });
    const first = await World.create({ DB: db, NONCES });
    const body = JSON.stringify(await route.acceptable(first));
    const accepting = async () => (await first.send(operation, body)).status;
    expect([await accepting(), kvCalls.splice(0)]).toEqual([200, ["get", "put"]]);
    // The first isolate accepted it, the second finds its ranstr in KV, and the third, without KV, in the database.
    const isolates = [
      first,
      first.anotherIsolate({ REPLAY_LOOK_MS: "1000" }),
      first.anotherIsolate({ NONCES: undefined }),
    ];
    for (const [i, isolate] of isolates.entries()) {
      if (i > 0) await expectTokenInvalid(isolate, () => isolate.send(operation, body));
      kvCalls.length = 0;
      const before = { ...trips };
      for (let n = 0; n < 5; n++) {
        const { headers } = await expectTokenInvalid(isolate, () => isolate.send(operation, body));
        expect(headers.get("x-error-detail")).toBe("ranstr: was already used");
      }
      expect([kvCalls, trips]).toEqual([[], before]);
    }
  });

  it("a replay that KV knows costs no call of the database, and an accepted request costs one batch", async () => {
    const { db, trips } = countingDb(env.DB);
    const world = await World.create({ DB: db, REPLAY_LOOK_MS: "1000" });
    await env.CREDENTIALS.delete(`app:${world.appid}`);
    await world.send(operation, await route.acceptable(world));
    expect(trips).toEqual({ batches: 1, single: 1 });
    const body = await route.acceptable(world);
    await world.send(operation, body);
    expect(trips).toEqual({ batches: 2, single: 1 });
    await expectTokenInvalid(world, () => world.send(operation, body));
    expect(trips).toEqual({ batches: 2, single: 1 });
  });

  it.each(["300", "10"])(
    "a ranstr can be used again after 1,860 s and not a second earlier, with a tolerance of %s s",
    async (tolerance) => {
      const world = await World.create({ NONCES: undefined, TIMESTAMP_TOLERANCE_SECONDS: tolerance });
      const body = await route.acceptable(world);
      await expectAccepted(world, route, () => world.send(operation, body));
      const { nonces } = await world.stored();
      expect(nonces).toMatchObject([{ appid: world.appid, ranstr: body.ranstr, expires_at: NOW + 1_860 }]);
      const again = (timestamp: number) => route.acceptable(world, { ranstr: body.ranstr, timestamp });
      world.clock.now = NOW + 1_859;
      const early = await again(NOW + 1_859);
      await expectTokenInvalid(world, () => world.send(operation, early));
      const elsewhere = world.anotherIsolate();
      await expectTokenInvalid(elsewhere, () => elsewhere.send(operation, early));
      world.clock.now = NOW + 1_860;
      const late = await again(NOW + 1_860);
      const before = await world.stored();
      expect((await world.send(operation, late)).envelope.code).toBe(1);
      expectAdded(route, before, await world.stored(), { nonces: 0 });
      expect((await world.stored()).nonces).toMatchObject([{ ranstr: body.ranstr, expires_at: NOW + 3_720 }]);
    },
  );
}
