import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { FAULTS, type Fault, Faults } from "../support/faulty-bindings.ts";
import { startCall, withoutWaiting } from "../support/patient-fetch.ts";
import { replacing } from "../support/replacing.ts";
import { World } from "../support/world.ts";
import { isolateWith, PromiseKeeper, SUBJECTS } from "./promise-under-faults.ts";

// Each of these tests sends many requests, which takes longer than usual on a busy machine.
beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] }));
afterEach(() => void vi.useRealTimers());

const TEMPERATURES = [
  { warm: true, state: "warm" },
  { warm: false, state: "cold" },
];
const KEYS = [{ key: "settles-it" }, { key: undefined }];

describe.each(SUBJECTS)("what an answer of $operation promises", (subject) => {
  describe.each(TEMPERATURES)("in a $state isolate", ({ warm }) => {
    it("is tested with a fault in each call of a binding", async () => {
      const keeper = await PromiseKeeper.create(await World.create(), subject, warm);
      const cold = ["CREDENTIALS.get", "CREDENTIALS.put", "DB.raw"];
      const calls = ["DB.batch", "NONCES.get", "NONCES.put", ...(warm ? [] : cold)];
      expect((await keeper.calls({})).sort()).toEqual(calls.sort());
      expect((await keeper.calls({ "idempotency-key": "k" })).sort()).toEqual(calls.sort());
    });

    describe.each(KEYS)("with the key $key", ({ key }) => {
      it.each(FAULTS)("holds whichever calls fail, one or all of them, once or each time: %s", async (fault) => {
        const keeper = await PromiseKeeper.create(await World.create(), subject, warm);
        for (const name of await keeper.calls({})) {
          const once = await keeper.hold(key && `${key}-${name}`, (call) =>
            call.name === name && call.nth === 0 ? fault : undefined,
          );
          // A caller should not notice one fault that D1 calls transient, or any number of faults in KV.
          expect(once.status, name).toBe(200);
          if (!name.startsWith("DB.")) continue;
          const always = await keeper.hold(key && `${key}-${name}-always`, (call) =>
            call.name === name ? fault : undefined,
          );
          expect(always.status, name).toBe(503);
        }
        expect((await keeper.hold(key, () => fault)).status).toBe(503);
      });
    });
  });

  it("holds when D1 cannot even prepare a statement", async () => {
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
    "recognises its own batch whose answer was lost (%s), and answers with what that batch wrote",
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

  it.each(FAULTS)("writes only the nonce when it refuses in spite of a fault: %s", async (fault) => {
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

  it("is no 500 when a try was lost and SQLite refuses the next one", async () => {
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
  it("does not replace a newer customer name by its own", async () => {
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

  it("changes nothing after the caller's own retry with the same key", async () => {
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
  it.each(SUBJECTS)("may be missing for $operation", async (subject) => {
    const world = await World.create();
    const isolate = world.anotherIsolate({ NONCES: undefined, CREDENTIALS: undefined } as never);
    const { body, count } = await subject.begin(world);
    const text = JSON.stringify(body());
    expect((await isolate.send(subject.operation, text)).status).toBe(200);
    expect((await isolate.send(subject.operation, text)).status).toBe(401);
    expect(await count()).toBe(1);
  });

  it.each(SUBJECTS)("may be full for $operation: it is read and takes nothing", async (subject) => {
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
