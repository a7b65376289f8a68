import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Faults, faultyD1 } from "../../support/faulty-bindings.ts";
import { startCall } from "../../support/patient-fetch.ts";
import { createBody } from "../../support/signed-bodies.ts";
import { hmac, NOW, World } from "../../support/world.ts";

const CALLERS = 12;
const STALL_MS = 60_000;
/** D1's error for all waiting calls when a stall ends. */
const RESET = "D1_ERROR: D1 DB storage operation exceeded timeout which caused object to be reset.";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] }));
afterEach(() => void vi.useRealTimers());

/** Lets time pass until the condition holds. Meanwhile the calls of other homes do their work. */
async function timeUntil(holds: () => boolean): Promise<void> {
  while (!holds()) {
    await vi.advanceTimersByTimeAsync(50);
    await scheduler.wait(1);
  }
}

/** A site in `apac`, one in `main`, and an isolate that serves both. From `stall` on, `apac` answers nobody. */
async function twoSites() {
  const faults = new Faults(() => undefined, RESET);
  const [apac, main] = [await World.create({}, "apac"), await World.create()];
  const isolate = apac.anotherIsolate({ HOME_APAC: faultyD1(env.HOME_APAC, faults) });
  await isolate.chatId({ sbs: "before" });
  const start = Date.now();
  return {
    isolate,
    faults,
    main,
    since: () => Date.now() - start,
    /** When the stall ends, half of the calls do their work, and the other half never do. */
    stall: () => faults.plan(({ nth }) => (nth % 2 === 0 ? "late" : "never done")),
    /** A call of the site in `main`, through the isolate that serves both sites. */
    async createInMain(sbs: string) {
      const text = JSON.stringify(createBody({ appid: main.appid, timestamp: NOW }, { sbs }));
      const { status } = await isolate.sendRaw("create_gd", text, {
        "x-chat-signature": await hmac(main.secret, text),
      });
      return status;
    },
  };
}

describe("a home that stalls for a minute under many callers", () => {
  it("a home that stalls under many callers gets few tries, opens each session once, and recovers afterwards", async () => {
    const { isolate, faults, since, stall, createInMain } = await twoSites();
    stall();
    const refusals: unknown[] = [];
    const answers = new Map<string, { at: number; chatId: unknown }>();
    const persist = async (sbs: string) => {
      for (;;) {
        const { answer } = await startCall(isolate, "create_gd", isolate.createBody({ sbs }), {
          "idempotency-key": sbs,
        });
        const { status, headers, envelope } = await answer;
        if (status === 200)
          return void answers.set(sbs, { at: since(), chatId: (envelope.data as { chat_id: number }).chat_id });
        const retryAfter = Number(headers.get("retry-after"));
        refusals.push([status, retryAfter]);
        await new Promise((resolve) => setTimeout(resolve, retryAfter * 1_000));
      }
    };
    const all = Promise.all(Array.from({ length: CALLERS }, (_, n) => persist(`customer-${n}`)));

    await timeUntil(() => since() >= STALL_MS / 2);
    const before = since();
    expect([await createInMain("meanwhile"), since() - before]).toEqual([200, 0]);
    await timeUntil(() => since() >= STALL_MS);
    // Each caller makes two tries until nobody has had an answer for 6 s. After that there is one try every 3 s.
    expect(faults.calls.length).toBeLessThanOrEqual(2 * CALLERS + (STALL_MS - 6_000) / 3_000 + 1);
    expect(answers.size).toBe(0);
    expect(new Set(refusals.map((each) => JSON.stringify(each)))).toEqual(new Set(["[503,1]", "[503,3]"]));

    await faults.end();
    await timeUntil(() => answers.size === CALLERS);
    await all;
    // A caller with `Retry-After: 3` has its session right after these 3 s.
    for (const [sbs, { at }] of answers) expect(at - STALL_MS, sbs).toBeLessThan(4_000);
    const { sessions } = await isolate.stored();
    const rows = sessions.map(({ id, customer_external_id }) => [customer_external_id, id] as const);
    expect(new Map(rows.filter(([sbs]) => sbs !== "before"))).toEqual(
      new Map([...answers].map(([sbs, { chatId }]) => [sbs, chatId])),
    );
    expect(sessions).toHaveLength(CALLERS + 1);
  });
});

describe("while a home counts as stalled", () => {
  /** Four calls wait for `apac`, until it counts as stalled and one of them tries it. */
  async function stalled() {
    const sites = await twoSites();
    const { isolate, faults, since, stall } = sites;
    stall();
    for (let n = 0; n < 4; n++)
      void (await startCall(isolate, "create_gd", isolate.createBody({ sbs: "waiting" }))).answer;
    await timeUntil(() => since() >= 6_500);
    const [tries, at] = [faults.calls.length, since()];
    return { ...sites, untouched: () => expect([faults.calls.length, since()]).toEqual([tries, at]) };
  }

  it("a call to a stalled home is refused at once without being used up, and is accepted later as it is", async () => {
    const { isolate, faults, untouched } = await stalled();
    const body = isolate.createBody({ sbs: "again" });
    const { status, headers, envelope } = await (await startCall(isolate, "create_gd", body)).answer;
    expect([status, headers.get("retry-after"), envelope.msg]).toEqual([503, "3", "服务暂时不可用"]);
    untouched();
    await faults.end();
    expect((await isolate.send("create_gd", body)).status).toBe(200);
  });

  it("an app whose record names a stalled home by mistake is served at once", async () => {
    const { main, createInMain, untouched } = await stalled();
    await main.chatId();
    const key = `app:${main.appid}`;
    const record = JSON.parse((await env.CREDENTIALS.get(key)) ?? "{}");
    await env.CREDENTIALS.put(key, JSON.stringify({ ...record, home: "apac" }));
    expect(await createInMain("misled")).toBe(200);
    untouched();
  });

  it("the look-up of an app that the isolate does not know is refused while its home stalls", async () => {
    const { isolate, untouched } = await stalled();
    const other = await World.create({}, "apac");
    const caller = Object.assign(other, { app: isolate.app, env: { ...isolate.env, CREDENTIALS: undefined } });
    const { answer } = await startCall(caller, "create_gd", other.createBody());
    expect([(await answer).status, (await answer).headers.get("retry-after")]).toEqual([503, "3"]);
    untouched();
  });

  it.each([
    ["GET", "/agents", undefined],
    ["POST", "/agents", { id: 9, name: "Nine" }],
  ])(
    "the admin API's %s %s is refused at once while the home stalls, and changes nothing",
    async (method, path, body) => {
      const { isolate, untouched } = await stalled();
      const answer = await isolate.admin(method, `/admin/sites/${isolate.siteId}${path}`, body);
      expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "3"]);
      expect(await answer.json()).toMatchObject({
        detail: expect.stringContaining("The home apac or the directory does not answer"),
      });
      untouched();
    },
  );
});
