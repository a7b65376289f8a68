import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { CountedLimit } from "../../support/counted-limit.ts";
import { eventually } from "../../support/eventually.ts";
import { FAULTS, Faults, faultyD1, faultyLimit } from "../../support/faulty-bindings.ts";
import type { ReplacedBindings } from "../../support/isolate.ts";
import { newToken } from "../../support/new-token.ts";
import { ADMIN_TOKEN, World } from "../../support/world.ts";

/** A site with a token, which lists its agents (GET) or adds one (POST). */
async function startLimited(bindings: ReplacedBindings = {}) {
  const log = vi.spyOn(console, "log").mockReturnValue();
  const faults = new Faults();
  const world = await World.create({ ...bindings, DB: faultyD1(env.DB, faults) });
  const { token, id } = await newToken();
  let last = 700_000;
  const send = (method: string, by = token, isolate: Pick<World, "fetch"> = world) =>
    isolate.fetch(
      new Request(`http://worker/admin/sites/${world.siteId}/agents`, {
        method,
        headers: { authorization: `Bearer ${by}`, "content-type": "application/json" },
        ...(method === "POST" && { body: JSON.stringify({ id: ++last, name: "Li Na" }) }),
      }),
    );
  const status = async (...args: Parameters<typeof send>) => (await send(...args)).status;
  const countAgents = () =>
    env.DB.prepare("SELECT count(*) AS n FROM agents WHERE site_id = ? AND id > 700000")
      .bind(world.siteId)
      .first<number>("n");
  const lastLine = () => JSON.parse(String(log.mock.lastCall?.[0])) as Record<string, unknown>;
  return { world, faults, token, id, send, status, countAgents, lastLine };
}

/** A refused answer of the admin API with its `Retry-After`. */
async function refusal(answer: Response) {
  const { status, detail } = await answer.json<Record<string, unknown>>();
  return { status, detail, type: answer.headers.get("content-type"), after: answer.headers.get("retry-after") };
}

const problem = (detail: string, after: string) => ({ status: 429, detail, type: "application/problem+json", after });

describe("a token over its limit", () => {
  it.each([
    ["TOKEN_CHANGES", "token_changes", "POST", "GET", "changes too much."],
    ["TOKEN_READS", "token_reads", "GET", "POST", "reads too much."],
  ] as const)(
    "a token over its limit %s is refused and changes nothing; its calls of the other kind are served",
    async (name, reason, method, other, does) => {
      const limit = new CountedLimit(2);
      const bindings: ReplacedBindings = name === "TOKEN_READS" ? { TOKEN_READS: limit } : { TOKEN_CHANGES: limit };
      const { id, send, status, countAgents, lastLine } = await startLimited(bindings);
      const detail = `The token ${id} ${does}`;
      const okStatus = method === "POST" ? 201 : 200;
      expect([await status(method), await status(method)]).toEqual([okStatus, okStatus]);
      const before = await countAgents();
      expect(await refusal(await send(method))).toEqual(problem(detail, "10"));
      expect(limit.keys).toEqual(Array(3).fill(`${reason} ${id}`));
      expect(await countAgents()).toBe(before);
      expect(lastLine()).toMatchObject({ status: 429, reason, detail });
      expect(await status(other)).toBe(other === "POST" ? 201 : 200);
      expect(await status(method, (await newToken()).token)).toBe(okStatus);
    },
  );

  it("a token over its limit is refused for 10 seconds: each answer takes a second and reads nothing", async () => {
    const limit = new CountedLimit(0);
    const { world, faults, status } = await startLimited({ TOKEN_CHANGES: limit });
    expect(await status("POST")).toBe(429);
    faults.plan(() => undefined);
    world.clock.now += 9;
    const since = Date.now();
    expect(await status("POST")).toBe(429);
    expect(Date.now() - since).toBeGreaterThanOrEqual(990);
    expect([faults.calls, limit.keys.length]).toEqual([[], 1]);
    limit.most = 2;
    world.clock.now += 1;
    expect(await status("POST")).toBe(201);
  });

  it("a token over its limit is refused while the directory is down too", async () => {
    vi.spyOn(console, "error").mockReturnValue();
    const { faults, status } = await startLimited({ TOKEN_READS: new CountedLimit(1) });
    expect(await status("GET")).toBe(200);
    faults.plan(() => "before");
    expect(await status("GET")).toBe(429);
  });
});

it("the root token and unknown tokens do not count towards the limits of tokens", async () => {
  const limit = new CountedLimit(0);
  const { status, countAgents } = await startLimited({ TOKEN_CHANGES: limit, TOKEN_READS: limit });
  for (let n = 0; n < 5; n++) expect(await status("POST", ADMIN_TOKEN)).toBe(201);
  expect(await status("GET", ADMIN_TOKEN)).toBe(200);
  const { token, id } = await newToken();
  await env.DB.prepare("DELETE FROM admin_tokens WHERE id = ?").bind(id).run();
  expect([await status("GET", token), await status("POST", token)]).toEqual([401, 401]);
  expect(limit.keys).toEqual([]);
  expect(await countAgents()).toBe(5);
});

it.each(FAULTS)("a broken limiter limits no token: %s", async (fault) => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
  try {
    const faults = new Faults(() => fault);
    const { status } = await startLimited({ TOKEN_READS: faultyLimit(new CountedLimit(0), faults, "TOKEN_READS") });
    const answer = status("GET");
    await eventually(() => expect(faults.calls).toEqual(["TOKEN_READS.limit"]));
    await vi.advanceTimersByTimeAsync(500);
    expect(await answer).toBe(200);
  } finally {
    vi.useRealTimers();
  }
});

describe("a token with four changes in flight in an isolate", () => {
  /** Sends changes at once. The database runs them only after `endChanges`. */
  async function inFlight(amount = 4, bindings: ReplacedBindings = {}) {
    const site = await startLimited(bindings);
    const { faults, send } = site;
    faults.plan(({ name }) => (name === "DB.batch" ? "late" : undefined));
    const statuses = Array.from({ length: amount }, async () => (await send("POST")).status);
    await eventually(() => expect(faults.calls.filter((call) => call === "DB.batch")).toHaveLength(4));
    const endChanges = async () => {
      await faults.end();
      return (await Promise.all(statuses)).toSorted();
    };
    return { ...site, endChanges };
  }

  it("a token's fifth simultaneous change is 429 and changes nothing, and the next one works after a running one ends", async () => {
    const { id, faults, send, status, endChanges, countAgents, lastLine } = await inFlight();
    const callsBefore = faults.calls.length;
    expect(await refusal(await send("POST"))).toEqual(problem(`The token ${id} has 4 changes under way.`, "1"));
    expect(faults.calls).toHaveLength(callsBefore);
    expect(lastLine()).toMatchObject({ status: 429, reason: "token_in_flight" });
    expect(await status("GET")).toBe(200);
    expect(await endChanges()).toEqual([201, 201, 201, 201]);
    expect(await countAgents()).toBe(4);
    expect(await status("POST")).toBe(201);
  });

  it("of forty changes that a token sends to a new isolate together, four are done", async () => {
    const { endChanges, countAgents } = await inFlight(40);
    expect(await endChanges()).toEqual([...Array(4).fill(201), ...Array(36).fill(429)]);
    expect(await countAgents()).toBe(4);
  });

  it("changes that are refused because four are running count towards the token's limit of changes", async () => {
    const limit = new CountedLimit(20);
    const { endChanges, status, id } = await inFlight(20, { TOKEN_CHANGES: limit });
    await endChanges();
    expect(limit.keys).toEqual(Array(20).fill(`token_changes ${id}`));
    expect(await status("POST")).toBe(429);
  });

  it("the four running changes of a token do not stop other tokens or other isolates", async () => {
    const { world, faults, token, status, endChanges } = await inFlight();
    const { token: another } = await newToken();
    faults.plan(() => undefined);
    expect(await status("POST", another)).toBe(201);
    expect(await status("POST", token, world.anotherIsolate())).toBe(201);
    await endChanges();
  });

  it("a token's running changes that were dropped by the platform stop counting after 8 seconds", async () => {
    const { world, faults, status, endChanges } = await inFlight();
    faults.plan(() => undefined);
    world.clock.now += 7;
    expect(await status("POST")).toBe(429);
    world.clock.now += 1;
    expect(await status("POST")).toBe(201);
    await endChanges();
  });

  it("a token may have 16 simultaneous reads in addition to its changes", async () => {
    const { faults, send, status } = await startLimited();
    faults.plan(({ name }) => (name === "DB.raw" ? "late" : undefined));
    const statuses = Array.from({ length: 16 }, () => status("GET"));
    await eventually(() => expect(faults.calls.length).toBeGreaterThanOrEqual(16));
    const seventeenth = await send("GET");
    expect([seventeenth.status, seventeenth.headers.get("retry-after")]).toEqual([429, "1"]);
    await faults.end();
    expect(await Promise.all(statuses)).toEqual(Array(16).fill(200));
  });

  it("refused calls do not count as running calls of a token", async () => {
    const { status } = await startLimited();
    for (let n = 0; n < 5; n++) expect(await status("PUT")).toBe(405);
  });
});
