import { env } from "cloudflare:workers";
import { Webhook } from "standardwebhooks";
import { afterEach, describe, expect, it, vi } from "vitest";
import { DRILL_CASE_NAMES } from "../../../src/operators/services/drill-webhook.ts";
import { call, conflict, problem } from "../../support/admin-calls.ts";
import { closedHomeVars } from "../../support/closed-home-vars.ts";
import { setWebhook } from "../../support/deliveries.ts";
import { FAULTY_RECEIVERS, receive } from "../../support/drilled-receivers.ts";
import { Faults, faultyD1 } from "../../support/faulty-bindings.ts";
import { newToken, useToken } from "../../support/new-token.ts";
import { newWebhook, sealedIn, type TestWebhook } from "../../support/new-webhook.ts";
import { eventStore } from "../../support/webhook-store.ts";
import { NOW, World } from "../../support/world.ts";

afterEach(() => void vi.unstubAllGlobals());

interface Drill {
  ok: boolean;
  results: { case: string; status: number | null; expected: string; ok: boolean }[];
}

/** A site with a webhook, and what drills it. */
async function start(home = "main") {
  const world = await World.create({}, home);
  const webhook = await newWebhook(world);
  const path = `/admin/sites/${world.siteId}/webhooks/${webhook.id}/drill`;
  return { world, webhook, path, drill: (at = world) => call(at, "POST", path) };
}

/** A receiver with the webhook's secret, by the clock of the world. */
const receiverOf = ({ clock }: World, { secret }: Pick<TestWebhook, "secret">, fault = {}) =>
  receive({ secret, now: () => clock.now }, fault);

const failedCases = (body: unknown) => (body as Drill).results.filter(({ ok }) => !ok).map((each) => each.case);

/** Gives a webhook a previous secret that is still valid. */
async function overlap(webhook: TestWebhook, previous: string): Promise<void> {
  const columns = Object.entries(await sealedIn("previous", webhook, previous));
  await setWebhook(
    webhook,
    `${columns.map(([name, value]) => `${name} = '${value}'`).join(", ")}, previous_expires_at = ${NOW + 600}`,
  );
}

const OTHER_KEY = Uint8Array.fromBase64(env.MASTER_KEY).toReversed().toBase64();
const PREVIOUS = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

describe("POST /admin/sites/:site_id/webhooks/:webhook_id/drill", () => {
  it("a receiver that does everything right passes all six cases of a drill", async () => {
    const { world, webhook, drill } = await start("apac");
    const { posts, acted } = receiverOf(world, webhook);
    const { status, body } = await drill();
    expect([status, body]).toEqual([
      200,
      {
        ok: true,
        results: [
          { case: "good", status: 204, expected: "2xx", ok: true },
          { case: "twice", status: 204, expected: "2xx", ok: true },
          { case: "forged", status: 400, expected: "4xx", ok: true },
          { case: "stale", status: 400, expected: "4xx", ok: true },
          { case: "altered", status: 400, expected: "4xx", ok: true },
          { case: "previous_secret", status: 204, expected: "2xx", ok: true },
        ],
      },
    ]);
    expect(posts).toHaveLength(6);
    expect(acted).toHaveLength(2);
  });

  it("each case of a drill tells a receiver apart that passes other cases", () => {
    const partial = Object.values(FAULTY_RECEIVERS).filter(({ fails }) => fails.length <= DRILL_CASE_NAMES.length / 2);
    expect([...new Set(partial.flatMap(({ fails }) => fails))].sort()).toEqual([...DRILL_CASE_NAMES].sort());
  });

  it("a drill posts pings that are stored nowhere, signed as real events are, and only what each case says is wrong", async () => {
    const { world, webhook, drill } = await start();
    const { posts } = receiverOf(world, webhook);
    await drill();
    const body = `{"type":"ping","timestamp":"2027-01-15T08:00:00.000Z","data":{"seq":0,"webhook_id":"${webhook.id}"}}`;
    expect(posts.map((each) => [each.url, each.body])).toEqual(
      DRILL_CASE_NAMES.map((name) => [webhook.url, name === "altered" ? `${body} ` : body]),
    );
    const header = (name: string) => posts.map(({ headers }) => headers.get(name) ?? "");
    expect(header("webhook-timestamp")).toEqual(
      DRILL_CASE_NAMES.map((name) => String(name === "stale" ? NOW - 600 : NOW)),
    );
    expect(new Set(header("user-agent"))).toEqual(new Set(["agent-session-webhooks/1"]));
    const [first, second, ...others] = header("webhook-id");
    expect(second).toBe(first);
    expect(new Set([first, ...others]).size).toBe(5);
    for (const id of [first, ...others]) expect(id).toMatch(/^evt_[0-9a-f]{32}$/);
    const own = posts.map(({ headers }) => {
      const [id, at] = [headers.get("webhook-id") ?? "", Number(headers.get("webhook-timestamp"))];
      const right = new Webhook(webhook.secret).sign(id, new Date(at * 1000), body);
      return headers
        .get("webhook-signature")
        ?.split(" ")
        .map((each) => each === right);
    });
    expect(own).toEqual([[true], [true], [false], [true], [true], [false, true, false]]);
  });

  it.each(["current", "previous"])(
    "during an overlap, a receiver with the %s secret passes a drill, and one that reads the first signature alone does not",
    async (which) => {
      const { world, webhook, drill } = await start();
      await overlap(webhook, PREVIOUS);
      const secret = which === "current" ? webhook.secret : PREVIOUS;
      const { posts } = receiverOf(world, { secret });
      expect((await drill()).body).toMatchObject({ ok: true });
      const counts = posts.map(({ headers }) => headers.get("webhook-signature")?.split(" ").length);
      expect(counts).toEqual([2, 2, 2, 2, 2, 4]);
      world.clock.now += 60;
      receiverOf(world, { secret }, FAULTY_RECEIVERS["reads the first signature alone"]?.parts);
      const fails = which === "current" ? ["previous_secret"] : ["good", "twice", "previous_secret"];
      const { body } = await drill();
      expect([(body as Drill).ok, failedCases(body)]).toEqual([false, fails]);
    },
  );

  it("a drill stores one audit row and nothing else, whatever its receiver answers", async () => {
    const { world, webhook, drill } = await start();
    await world.chatId();
    const before = await eventStore(world);
    for (const fault of [{}, { taken: 500, repeated: 500, refused: 410 }]) {
      receiverOf(world, webhook, fault);
      expect((await drill()).status).toBe(200);
      world.clock.now += 60;
    }
    const row = { action: "webhook.drilled", actor: "admin-api", subject: webhook.id, details: {} };
    const audit = [...before.audit, { ...row, at: NOW }, { ...row, at: NOW + 60 }];
    expect(await eventStore(world)).toEqual({ ...before, audit });
  });

  it("a webhook is drilled at most once in 60 s: a second drill is 429 and posts nothing", async () => {
    const { world, webhook, drill } = await start();
    const { posts } = receiverOf(world, webhook);
    expect((await drill()).status).toBe(200);
    for (const seconds of [0, 59]) {
      world.clock.now = NOW + seconds;
      const { status, headers, body } = await drill();
      expect([status, headers.get("retry-after"), body]).toEqual([
        429,
        "60",
        {
          type: "about:blank",
          title: "Too many requests",
          status: 429,
          detail: "A webhook is drilled at most once in 60 s. Nothing was posted now.",
        },
      ]);
    }
    expect(posts).toHaveLength(6);
    expect((await eventStore(world)).audit).toHaveLength(1);
    world.clock.now = NOW + 60;
    expect((await drill()).status).toBe(200);
    expect(posts).toHaveLength(12);
  });

  it("two operators who drill a webhook at once post six events together, and another webhook may be drilled meanwhile", async () => {
    const { world, webhook, path } = await start();
    const other = await newWebhook(world);
    const { posts } = receiverOf(world, webhook);
    const drillAs = async () => useToken(world.anotherIsolate(), (await newToken()).token, "POST", path);
    const statuses = (await Promise.all(Array.from({ length: 5 }, drillAs))).map(({ status }) => status);
    expect(statuses.sort()).toEqual([200, 429, 429, 429, 429]);
    expect(posts).toHaveLength(6);
    expect((await call(world, "POST", `/admin/sites/${world.siteId}/webhooks/${other.id}/drill`)).status).toBe(200);
  });

  it.each(["before", "during", "after"] as const)(
    "a drill whose audit row meets a fault of D1 (%s) is 503, and posts nothing",
    async (fault) => {
      const { world, webhook, drill } = await start();
      const { posts } = receiverOf(world, webhook);
      const faults = new Faults(({ name }) => (name === "DB.run" ? fault : undefined));
      vi.spyOn(console, "error").mockReturnValue();
      expect((await drill(world.anotherIsolate({ DB: faultyD1(env.DB, faults) }))).status).toBe(503);
      vi.restoreAllMocks();
      expect(posts).toEqual([]);
      expect(faults.calls.filter((name) => name === "DB.run")).toHaveLength(1);
      expect((await eventStore(world)).audit).toHaveLength(fault === "after" ? 1 : 0);
      expect((await drill()).status).toBe(fault === "after" ? 429 : 200);
    },
  );
});

describe("a drill that is refused", () => {
  /** Drills with this isolate, and checks that nothing was posted or stored. */
  async function refused({ world, webhook, drill }: Awaited<ReturnType<typeof start>>, at = world) {
    const { posts } = receiverOf(world, webhook);
    const before = await eventStore(world);
    const { status, body } = await drill(at);
    expect(posts).toEqual([]);
    expect(await eventStore(world)).toEqual(before);
    return { status, body };
  }

  it("a drill of a disabled webhook is 409, and nothing is posted or stored", async () => {
    const begun = await start();
    await setWebhook(begun.webhook, "status = 'disabled'");
    expect(await refused(begun)).toEqual(conflict("webhook_disabled"));
  });

  it.each([
    ["http://127.0.0.1:9000/", "must be an absolute https URL"],
    ["https://10.0.0.1/", "must name a host, not an IP address"],
    ["https://metadata.internal/", "must have a public host name"],
    ["https://hooks.example.com:8443/", "must use port 443"],
  ])("a drill of a webhook whose stored URL is %s is 400, and nothing is posted or stored", async (url, message) => {
    const begun = await start();
    await setWebhook(begun.webhook, `url = '${url}'`);
    expect(await refused(begun)).toEqual(problem(400, "Invalid input", [{ field: "url", message }]));
  });

  it("a drill while the home is closed is 503, and nothing is posted or stored", async () => {
    const begun = await start("apac");
    vi.spyOn(console, "error").mockReturnValue();
    const { status } = await refused(begun, begun.world.anotherIsolate(closedHomeVars("apac")));
    vi.restoreAllMocks();
    expect(status).toBe(503);
  });

  it("a drill whose MASTER_KEY does not open the secret is 500 and says so, and nothing is posted or stored", async () => {
    const begun = await start();
    vi.spyOn(console, "error").mockReturnValue();
    const { status, body } = await refused(begun, begun.world.anotherIsolate({ MASTER_KEY: OTHER_KEY }));
    vi.restoreAllMocks();
    expect([status, body]).toEqual([
      500,
      expect.objectContaining({ detail: expect.stringContaining("MASTER_KEY does not open what is sealed.") }),
    ]);
  });

  it("a viewer's drill is 403, and nothing is posted or stored", async () => {
    const { world, webhook, path } = await start();
    const { posts } = receiverOf(world, webhook);
    const { token } = await newToken({ role: "viewer", siteId: world.siteId });
    expect((await useToken(world, token, "POST", path)).status).toBe(403);
    expect(posts).toEqual([]);
    expect((await eventStore(world)).audit).toEqual([]);
  });
});
