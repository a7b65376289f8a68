import { describe, expect, it, onTestFinished, vi } from "vitest";
import { DRILLS, isBusy, SLOW_DRILL_MS } from "../../../src/core/signed/drill.ts";
import { nonceKey } from "../../../src/core/signed/kv-nonces.ts";
import { CountedLimit } from "../../support/counted-limit.ts";
import { hmac } from "../../support/hmac.ts";
import { JournalConsumer, journalOf, keepingJournal } from "../../support/journal.ts";
import { ranstrFor } from "../../support/ranstr-for.ts";
import { expectUnwritten, INVALID_PARAMETERS, SIGNED_ROUTES } from "../../support/signed-routes.ts";
import { type Body, World } from "../../support/world.ts";

/** Sends a signed call, and gives the answer as it came: a withheld one is no envelope. */
async function sent(world: World, body: Body, headers: Record<string, string>, operation = "create_gd") {
  const text = JSON.stringify(body);
  const signature = { "content-type": "application/json", "x-chat-signature": await hmac(world.secret, text) };
  const url = `http://worker/openapi/chat/${operation}`;
  const response = await world.fetch(
    new Request(url, { method: "POST", headers: { ...signature, ...headers }, body: text }),
  );
  return { status: response.status, headers: response.headers, text: await response.text() };
}

const LOST = { "x-drill": "lost-answer" };

/** Lets the wait of the drill `slow` end at once, and calls `onWait` before it. @returns how often a call has waited that long */
function hurriedTimers(onWait = () => {}): { waits: number } {
  const counted = { waits: 0 };
  const original = globalThis.setTimeout;
  const timers = vi.spyOn(globalThis, "setTimeout").mockImplementation(((callback: () => void, ms = 0) => {
    if (ms === SLOW_DRILL_MS) {
      counted.waits++;
      onWait();
    }
    return original(callback, ms === SLOW_DRILL_MS ? 0 : ms);
  }) as typeof setTimeout);
  onTestFinished(() => timers.mockRestore());
  return counted;
}

describe("the drill lost-answer", () => {
  it.each(SIGNED_ROUTES)(
    "the drill lost-answer does $operation and answers a bare 502, and a repetition gets the envelope",
    async (route) => {
      const world = await World.create();
      const body = await route.acceptable(world);
      const before = await world.stored();
      const headers = { ...LOST, "idempotency-key": "order-1" };
      const lost = await sent(world, body, headers, route.operation);
      expect(lost).toMatchObject({ status: 502, text: expect.stringMatching(/^<html>/) });
      expect([...lost.headers.keys()].sort()).toEqual(["content-type", "x-request-id"]);
      const after = await world.stored();
      expect(after.nonces).toHaveLength(before.nonces.length + 1);
      expect(after.keys).toHaveLength(1);
      const repeated = await sent(world, { ...body, ranstr: crypto.randomUUID() }, headers, route.operation);
      expect(repeated.status).toBe(200);
      expect(JSON.parse(repeated.text)).toMatchObject({ code: 1 });
      expect(repeated.headers.get("idempotency-replayed")).toBe("true");
      expect({ ...(await world.stored()), nonces: [] }).toEqual({ ...after, nonces: [] });
    },
  );

  it("the drill lost-answer opens a session for each try without an Idempotency-Key, and answers none", async () => {
    const world = await World.create();
    for (let tries = 1; tries <= 2; tries++) {
      expect((await sent(world, world.createBody(), LOST)).status).toBe(502);
      expect((await world.stored()).sessions).toHaveLength(tries);
    }
  });

  it("the drill lost-answer withholds no refusal, so the caller reads what is wrong", async () => {
    const world = await World.create();
    const { status, text, headers } = await sent(world, world.createBody({ content: "" }), LOST);
    expect({ status, envelope: JSON.parse(text) }).toEqual({ status: 400, envelope: INVALID_PARAMETERS });
    expect(headers.get("x-error-detail")).toMatch(/^content: /);
    expect((await sent(world, world.createBody(), { ...LOST, "x-chat-signature": "0".repeat(64) })).status).toBe(401);
  });

  it("the drill lost-answer is a 502 also where failures answer 200, as from a gateway", async () => {
    const world = await World.create({ ERROR_STATUS: "always-200" });
    expect((await sent(world, world.createBody(), LOST)).status).toBe(502);
  });
});

describe("the drill slow", () => {
  it("the drill slow answers after 12 s, and answers a repetition and a refusal at once", async () => {
    const world = await World.create();
    const headers = { "x-drill": "slow", "idempotency-key": "order-1" };
    const counted = hurriedTimers();
    const first = await sent(world, world.createBody(), headers);
    expect(JSON.parse(first.text)).toMatchObject({ code: 1 });
    expect(counted.waits).toBe(1);
    const repeated = await sent(world, world.createBody(), headers);
    expect(JSON.parse(repeated.text)).toEqual(JSON.parse(first.text));
    expect((await sent(world, world.createBody({ content: "" }), headers)).status).toBe(400);
    expect(counted.waits).toBe(1);
    expect((await world.stored()).sessions).toHaveLength(1);
  });

  it("a call with the drill slow is in the log before it waits, because a caller who hangs up ends all later work", async () => {
    const world = await World.create();
    const log = vi.spyOn(console, "log").mockImplementation(() => {});
    onTestFinished(() => log.mockRestore());
    let linesAtWait: unknown[] = [];
    hurriedTimers(() => {
      linesAtWait = log.mock.calls.map(([line]) => JSON.parse(String(line)));
    });
    await sent(world, world.createBody(), { "x-drill": "slow" });
    expect(linesAtWait).toMatchObject([{ drill: "slow", status: 200, outcome: "ok" }]);
  });
});

describe("the drill busy", () => {
  it("the drill busy refuses three of four ranstrs", async () => {
    const keys = await Promise.all(Array.from({ length: 2_000 }, (_, i) => nonceKey("shop", `ranstr ${i}`)));
    const refused = keys.filter(isBusy);
    expect(refused.length).toBeGreaterThan(1_400);
    expect(refused.length).toBeLessThan(1_600);
  });

  it.each(SIGNED_ROUTES)(
    "the drill busy answers $operation 503 with Retry-After 1, and does not even use up its ranstr",
    async (route) => {
      const world = await World.create();
      const acceptable = await route.acceptable(world);
      const body = { ...acceptable, ranstr: await ranstrFor(world.appid, "refused") };
      await expectUnwritten(world, async () => {
        const { status, headers, text } = await sent(world, body, { "x-drill": "busy" }, route.operation);
        expect({ status, envelope: JSON.parse(text) }).toMatchObject({ status: 503, envelope: { code: -1, data: "" } });
        expect(headers.get("retry-after")).toBe("1");
        expect(headers.get("x-error-detail")).toBe("x-drill: busy was asked for, so nothing was done");
      });
      expect((await sent(world, body, {}, route.operation)).status).toBe(200);
    },
  );

  it("the drill busy does one call of four as always", async () => {
    const world = await World.create();
    const ranstr = await ranstrFor(world.appid, "let through");
    const answer = await sent(world, world.createBody({ ranstr }), { "x-drill": "busy" });
    expect(JSON.parse(answer.text)).toMatchObject({ code: 1 });
    expect((await world.stored()).sessions).toHaveLength(1);
  });

  it("the drill busy refuses a repetition too", async () => {
    const world = await World.create();
    const key = { "idempotency-key": "order-1" };
    expect((await sent(world, world.createBody(), key)).status).toBe(200);
    const again = world.createBody({ ranstr: await ranstrFor(world.appid, "refused") });
    expect((await sent(world, again, { ...key, "x-drill": "busy" })).status).toBe(503);
    expect((await sent(world, again, key)).headers.get("idempotency-replayed")).toBe("true");
    expect((await world.stored()).sessions).toHaveLength(1);
  });

  it("a captured request with the drill busy does not use the app's quota, and has a limit of its own", async () => {
    const app = new CountedLimit(3);
    const world = await World.create({ APP_LIMIT: app });
    const body = world.createBody({ ranstr: await ranstrFor(world.appid, "refused") });
    const statuses: number[] = [];
    for (let i = 0; i < 6; i++) statuses.push((await sent(world, body, { "x-drill": "busy" })).status);
    expect(statuses).toEqual([503, 503, 503, 503, 429, 429]);
    expect(app.keys.filter((key) => key === world.appid)).toHaveLength(0);
    expect((await sent(world, body, {})).status).toBe(200);
  });
});

describe("any drill", () => {
  it.each(["", "Busy", "busy, busy", "lost_answer", "constructor"])(
    "an unknown drill '%s' is 400 with the names of the drills, and nothing is done",
    async (name) => {
      const world = await World.create();
      await expectUnwritten(world, async () => {
        const { status, headers, text } = await sent(world, world.createBody(), { "x-drill": name });
        expect({ status, envelope: JSON.parse(text) }).toEqual({ status: 400, envelope: INVALID_PARAMETERS });
        expect(headers.get("x-error-detail")).toBe(`x-drill: must be one of ${DRILLS.join(", ")}`);
      });
    },
  );

  it.each(DRILLS)("the drill %s is refused with 400 while drills are off, and nothing is done", async (drill) => {
    const world = await World.create({ DRILLS: "off" });
    await expectUnwritten(world, async () => {
      const { status, headers } = await sent(world, world.createBody(), { "x-drill": drill });
      expect(status).toBe(400);
      expect(headers.get("x-error-detail")).toBe("x-drill: must be absent: this service has drills switched off");
    });
    expect((await world.create()).status).toBe(200);
  });

  it.each(DRILLS)("a call with a wrong signature gets the usual 401 under the drill %s", async (drill) => {
    const world = await World.create();
    const forged = { "x-chat-signature": "0".repeat(64) };
    const usual = await sent(world, world.createBody(), forged);
    const drilled = await sent(world, world.createBody(), { ...forged, "x-drill": drill });
    const withoutId = ({ status, headers, text }: typeof usual) => {
      headers.delete("x-request-id");
      return { status, text, headers: [...headers] };
    };
    expect(withoutId(drilled)).toEqual(withoutId(usual));
  });

  it.each(DRILLS)("a used ranstr is refused as a replay under the drill %s too", async (drill) => {
    const counted = hurriedTimers();
    for (const outcome of ["refused", "let through"] as const) {
      const world = await World.create();
      const body = world.createBody({ ranstr: await ranstrFor(world.appid, outcome) });
      expect((await sent(world, body, {})).status).toBe(200);
      const before = await world.stored();
      const { status, text } = await sent(world, body, { "x-drill": drill });
      expect({ status, envelope: JSON.parse(text) }).toMatchObject({ status: 401, envelope: { code: -1, data: "" } });
      expect(await world.stored()).toEqual(before);
    }
    expect(counted.waits).toBe(0);
  });

  it.each(DRILLS)("a call that is done under the drill %s counts for the app's limit", async (drill) => {
    hurriedTimers();
    const app = new CountedLimit(9);
    const world = await World.create({ APP_LIMIT: app });
    await sent(world, world.createBody({ ranstr: await ranstrFor(world.appid, "let through") }), { "x-drill": drill });
    expect(app.keys).toEqual([world.appid]);
  });

  it.each(DRILLS)("a refused call has the drill %s in the log, in the journal and in the admin API", async (drill) => {
    const log = vi.spyOn(console, "log").mockImplementation(() => {});
    onTestFinished(() => log.mockRestore());
    const { sent: messages, JOURNAL } = keepingJournal();
    const world = await World.create({ JOURNAL });
    await sent(world, world.createBody({ content: "" }), { "x-drill": drill });
    await sent(world, world.createBody({ content: "" }), {});
    await new JournalConsumer().write(messages.splice(0));
    const drills = log.mock.calls.map(([line]) => JSON.parse(String(line)).drill as unknown);
    expect(drills.filter((each) => each !== undefined)).toEqual([drill]);
    const rows = await journalOf(world);
    expect(rows.map((row) => row.drill)).toContain(drill);
    const shown = await world.admin("GET", `/admin/sites/${world.siteId}/refusals`);
    expect(await shown.json()).toMatchObject({ items: rows.map((row) => ({ drill: row.drill })).reverse() });
  });

  it("a call that is done under a drill leaves its event", async () => {
    const world = await World.create();
    await world.admin("POST", `/admin/sites/${world.siteId}/webhooks`, { url: "https://hooks.example.com/in" });
    await sent(world, world.createBody(), LOST);
    const events = await world.admin("GET", `/admin/sites/${world.siteId}/events`);
    expect(await events.json()).toMatchObject({ items: [{ type: "session.created" }] });
  });
});
