import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { CALLS, MAIN_DOWN, problem, read } from "../../support/admin-calls.ts";
import { ConsoleVisitor } from "../../support/console-visitor.ts";
import { Faults, faultyD1 } from "../../support/faulty-bindings.ts";
import { newWebhook } from "../../support/new-webhook.ts";
import { withoutWaiting } from "../../support/patient-fetch.ts";
import { World } from "../../support/world.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
  vi.spyOn(console, "error").mockImplementation(() => {});
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** Another isolate whose D1 never answers. D1 either does nothing, or makes the change without answering. */
function silent(world: World, isDone: boolean): { isolate: World; faults: Faults } {
  const faults = new Faults(({ name }) =>
    isDone ? (name === "DB.batch" ? "done in silence" : undefined) : "never done",
  );
  return { isolate: world.anotherIsolate({ DB: faultyD1(env.DB, faults) }), faults };
}

describe("a D1 that never answers", () => {
  it("an admin call is 503 when D1 never answers, or names the silent home when it reads all homes", async () => {
    const world = await World.create();
    for (const { name, method, path, body } of CALLS) {
      const { isolate, faults } = silent(world, false);
      const answer = await read(await withoutWaiting(isolate.admin(method, path(world), body), faults));
      await faults.end();
      const { homes_down, ...rest } = answer.body as Record<string, unknown>;
      const expected = MAIN_DOWN[name];
      if (expected !== undefined) {
        expect([name, answer.status, { ...rest, homes_down }]).toEqual([name, 200, expected]);
        continue;
      }
      expect([name, answer.status, rest]).toEqual([name, 503, problem(503, "Temporarily unavailable").body]);
      expect(answer.headers.get("retry-after")).toBe("1");
      expect(answer.headers.get("cache-control")).toBe("no-store");
      const isUnknown = /may or may not have been done: look before you repeat it/.test(String(rest.detail));
      expect([name, isUnknown]).toEqual([name, method !== "GET"]);
    }
  });

  it("an admin call that times out says that the change may have been made", async () => {
    const error = vi.spyOn(console, "error").mockImplementation(() => {});
    const world = await World.create();
    const { isolate, faults } = silent(world, true);
    const path = `/admin/apps/${world.appid}`;
    const answer = await withoutWaiting(isolate.admin("DELETE", path), faults);
    expect([answer.status, (await answer.json<{ detail: string }>()).detail]).toEqual([
      503,
      "No answer within 8 s. What was asked for may or may not have been done: look before you repeat it.",
    ]);
    expect((await world.operated()).apps[0]).toMatchObject({ revoked_at: world.clock.now });
    const log = error.mock.calls.map(([line]) => JSON.parse(String(line)));
    expect(log).toMatchObject([{ status: 503, reason: "operator_time_limit" }]);
    await faults.end();
  });

  it("a drill of a webhook ends after 8 s as any call when D1 never answers", async () => {
    const world = await World.create();
    const { id } = await newWebhook(world);
    const { isolate, faults } = silent(world, false);
    const began = Date.now();
    const call = isolate.admin("POST", `/admin/sites/${world.siteId}/webhooks/${id}/drill`);
    const { status, body } = await read(await withoutWaiting(call, faults));
    await faults.end();
    expect([status, JSON.stringify(body)]).toEqual([503, expect.stringContaining("No answer within 8 s.")]);
    expect(Date.now() - began).toBeLessThanOrEqual(8_000);
  });

  it("a console page is 503 when D1 never answers, for reading and for changing", async () => {
    const world = await World.create();
    const { isolate, faults } = silent(world, false);
    const { cookies } = await ConsoleVisitor.signedIn(world);
    const visitor = new ConsoleVisitor(isolate);
    for (const [name, value] of cookies) visitor.cookies.set(name, value);
    const app = `/console/sites/${world.siteId}/apps/${world.appid}`;
    const page = await withoutWaiting(visitor.get("/console"), faults);
    expect([page.status, page.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(await page.text()).toContain("The database does not answer");
    const answer = await withoutWaiting(visitor.post(`${app}/revoke`, {}), faults);
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(await answer.text()).toContain("Nothing was changed. Try again in a moment.");
    await faults.end();
  });
});

describe("a receiver that never answers", () => {
  it("a drill waits 15 s for each of its six posts, and is answered although other calls end after 8 s", async () => {
    const world = await World.create();
    const { id } = await newWebhook(world);
    const faults = new Faults(() => "never done");
    vi.stubGlobal("fetch", () => faults.through("fetch", async () => new Response()));
    const began = Date.now();
    const drill = world.admin("POST", `/admin/sites/${world.siteId}/webhooks/${id}/drill`);
    const { status, body } = await read(await withoutWaiting(drill, faults));
    await faults.end();
    vi.unstubAllGlobals();
    const statuses = (body as { results: { status: number | null }[] }).results.map((each) => each.status);
    expect([status, statuses]).toEqual([200, Array.from({ length: 6 }, () => null)]);
    expect(Date.now() - began).toBeGreaterThanOrEqual(90_000);
    expect(Date.now() - began).toBeLessThan(91_000);
  });
});
