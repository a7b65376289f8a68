import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Call, FAULTS, type Fault, Faults } from "../../support/faulty-bindings.ts";
import { startCall, withoutWaiting } from "../../support/patient-fetch.ts";
import { replacing } from "../../support/replacing.ts";
import { World } from "../../support/world.ts";
import { isolateWith, PromiseKeeper, SUBJECTS } from "./promise-under-faults.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] }));
afterEach(() => void vi.useRealTimers());

const KEYS = [{ key: "settles-it" }, { key: undefined }];

/** KV and the credentials are read before any operation, so one operation is enough for these faults. Credentials need a cold isolate. */
const [create] = SUBJECTS as [(typeof SUBJECTS)[0]];
const READS = {
  warm: ["NONCES.get", "NONCES.put"],
  // The put is tested alone, because it comes too late when the other calls are silent.
  cold: [["CREDENTIALS.get", "DB.all"], ["CREDENTIALS.put"]],
};

/** One transient fault of D1, or any number of faults of KV, must not change the answer. Here each of these calls fails once. */
async function holdsOnce(keeper: PromiseKeeper, names: string[], fault: Fault, key?: string): Promise<void> {
  const failed = new Set<string>();
  const plan = ({ name, nth }: Call) => (names.includes(name) && nth === 0 && failed.add(name) ? fault : undefined);
  expect((await keeper.hold(key && `${key}-once`, plan)).status).toBe(200);
  expect([...failed].sort()).toEqual(names.toSorted());
}

async function holdsAlways(keeper: PromiseKeeper, name: string, fault: Fault, key?: string): Promise<void> {
  const plan = (call: Call) => (call.name === name ? fault : undefined);
  expect((await keeper.hold(key && `${key}-${name}-always`, plan)).status, name).toBe(503);
}

describe("what an answer promises while reads before the operation fail", () => {
  it.each(FAULTS)(
    "the store agrees with the answer in a warm isolate when one read or every read fails: %s",
    async (fault) => {
      const keeper = await PromiseKeeper.create(await World.create(), create, true);
      await holdsOnce(keeper, READS.warm, fault, "settles-it");
      expect((await keeper.hold("settles-it", () => fault)).status).toBe(503);
    },
  );

  it.each(FAULTS)(
    "the store agrees with the answer in a cold isolate when one read or every read fails: %s",
    async (fault) => {
      const keeper = await PromiseKeeper.create(await World.create(), create, false);
      for (const names of READS.cold) await holdsOnce(keeper, names, fault);
      await holdsAlways(keeper, "DB.all", fault);
      expect((await keeper.hold(undefined, () => fault)).status).toBe(503);
    },
  );
});

describe.each(SUBJECTS)("what an answer of $operation promises", (subject) => {
  it.each([true, false])("the faults of this file hit each call of a binding (a warm isolate: %s)", async (warm) => {
    const keeper = await PromiseKeeper.create(await World.create(), subject, warm);
    const calls = ["DB.batch", ...READS.warm, ...(warm ? [] : READS.cold.flat())];
    expect((await keeper.calls({})).sort()).toEqual(calls.sort());
    expect((await keeper.calls({ "idempotency-key": "k" })).sort()).toEqual(calls.sort());
  });

  // The effect of a missing key is the same for every operation, so only create_gd is tested without a key.
  describe.each(subject === create ? KEYS : KEYS.slice(0, 1))("with the key $key", ({ key }) => {
    it.each(FAULTS)("the store agrees with the answer when the batch fails once or each time: %s", async (fault) => {
      const keeper = await PromiseKeeper.create(await World.create(), subject, true);
      await holdsOnce(keeper, ["DB.batch"], fault, key);
      await holdsAlways(keeper, "DB.batch", fault, key);
    });
  });

  it("the store agrees with the answer when D1 cannot even prepare a statement", async () => {
    const world = await World.create();
    const isolate = world.anotherIsolate({
      DB: new Proxy(env.DB, {
        get() {
          throw new Error("boom");
        },
      }),
    });
    const { body, count } = await subject.begin(world);
    const answer = await isolate.send(subject.operation, body());
    expect(answer.status).toBe(503);
    expect(answer.headers.get("retry-after")).toBe("1");
    expect(await count()).toBe(0);
  });

  it.each<Fault>(["after", "done in silence"])(
    "a call recognises its own batch whose answer was lost (%s), and answers with the batch's result",
    async (fault) => {
      const world = await World.create();
      const faults = new Faults(({ name, nth }) => (name === "DB.batch" && nth === 0 ? fault : undefined));
      const isolate = isolateWith(world, faults);
      const { body, count } = await subject.begin(world);
      const call = await startCall(isolate, subject.operation, body());
      const answer = await withoutWaiting(call.answer, faults);
      expect(answer.status).toBe(200);
      expect(answer.headers.has("idempotency-replayed")).toBe(false);
      expect(faults.calls.filter((name) => name === "DB.batch")).toHaveLength(2);
      expect(await count()).toBe(1);
      if (subject.operation === "create_gd") {
        const { sessions } = await world.stored();
        expect(answer.envelope.data).toEqual({ chat_id: sessions[0]?.id });
      }
      await faults.end();
      await call.rest();
    },
  );

  it.each(FAULTS)("a refused call writes only its nonce in spite of a fault: %s", async (fault) => {
    const world = await World.create();
    const id = await world.chatId({ kefu_id: [1] });
    const { nonces: _, ...before } = await world.stored();
    const faults = new Faults(({ name, nth }) => (name === "DB.batch" && nth === 0 ? fault : undefined));
    const isolate = isolateWith(world, faults);
    const body =
      subject.operation === "create_gd" ? world.createBody({ kefu_id: [1, 4] }) : world.addBody(id, { kefu_ids: "4" });
    const call = await startCall(isolate, subject.operation, body, { "idempotency-key": "refused" });
    const answer = await withoutWaiting(call.answer, faults);
    expect(answer.status).toBe(subject.operation === "create_gd" ? 400 : 409);
    await faults.end();
    await call.rest();
    const { nonces, ...after } = await world.stored();
    expect(after).toEqual(before);
    expect(nonces).toHaveLength(2);
  });

  it("a call is no 500 when its first try was lost and SQLite refuses the next one", async () => {
    const world = await World.create();
    const { body, count } = await subject.begin(world);
    let tries = 0;
    const batch = async (statements: D1PreparedStatement[]) => {
      tries += 1;
      if (tries > 1) throw new Error("D1_ERROR: no such table: nonces: SQLITE_ERROR");
      await env.DB.batch(statements);
      throw new Error("D1_ERROR: Network connection lost.");
    };
    const isolate = world.anotherIsolate({ DB: replacing(env.DB, { batch }) });
    const call = await startCall(isolate, subject.operation, body());
    const answer = await withoutWaiting(call.answer, new Faults());
    expect(answer.status).toBe(503);
    expect(answer.headers.get("retry-after")).toBe("1");
    expect(await count()).toBe(1);
    await call.rest();
  });
});

describe("a first try that commits after the second", () => {
  it("a first try that commits after the second does not replace a newer customer name", async () => {
    const world = await World.create();
    const faults = new Faults(({ name, nth }) => (name === "DB.batch" && nth === 0 ? "late" : undefined));
    const isolate = isolateWith(world, faults);
    const call = await startCall(isolate, "create_gd", world.createBody({ sbs_mc: "Older", ip: "10.0.0.1" }));
    expect((await withoutWaiting(call.answer, faults)).status).toBe(200);
    await world.create({ sbs_mc: "Newer", ip: "10.0.0.2" });
    const before = await world.stored();
    expect(before.customers).toEqual([expect.objectContaining({ name: "Newer", ip: "10.0.0.2" })]);
    await faults.end();
    await call.rest();
    expect(await world.stored()).toEqual(before);
  });

  it("a first try that commits after the caller's own retry with the same key changes nothing", async () => {
    const world = await World.create();
    const faults = new Faults(({ name }) => (name === "DB.batch" ? "late" : undefined));
    const isolate = isolateWith(world, faults);
    const key = { "idempotency-key": "k" };
    const call = await startCall(isolate, "create_gd", world.createBody({ sbs_mc: "Name" }), key);
    expect((await withoutWaiting(call.answer, faults)).status).toBe(503);
    expect((await world.create({ sbs_mc: "Name" }, key)).status).toBe(200);
    await world.create({ sbs_mc: "Newer" });
    const { nonces: _, ...before } = await world.stored();
    await faults.end();
    await call.rest();
    const { nonces: __, ...after } = await world.stored();
    expect(after).toEqual(before);
    expect(after.sessions).toHaveLength(2);
  });
});

describe("KV", () => {
  it.each(SUBJECTS)("$operation works without KV", async (subject) => {
    const world = await World.create();
    const isolate = world.anotherIsolate({ NONCES: undefined, CREDENTIALS: undefined } as never);
    const { body, count } = await subject.begin(world);
    const text = JSON.stringify(body());
    expect((await isolate.send(subject.operation, text)).status).toBe(200);
    expect((await isolate.send(subject.operation, text)).status).toBe(401);
    expect(await count()).toBe(1);
  });

  it.each(SUBJECTS)("$operation works with a full KV, which is read and takes nothing", async (subject) => {
    const world = await World.create();
    const put = async () => {
      throw new Error("KV PUT failed: 429 Too Many Requests");
    };
    const kv = (name: "NONCES" | "CREDENTIALS") => replacing(env[name], { put });
    const isolate = world.anotherIsolate({ NONCES: kv("NONCES"), CREDENTIALS: kv("CREDENTIALS") });
    const { body, count } = await subject.begin(world);
    const text = JSON.stringify(body());
    expect((await isolate.send(subject.operation, text)).status).toBe(200);
    expect((await isolate.send(subject.operation, text)).status).toBe(401);
    expect(await count()).toBe(1);
  });
});
