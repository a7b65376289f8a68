import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ConsoleVisitor } from "../../support/console-visitor.ts";
import { downDb } from "../../support/down-db.ts";
import { Faults, faultyD1 } from "../../support/faulty-bindings.ts";
import { withoutWaiting } from "../../support/patient-fetch.ts";
import { replacing } from "../../support/replacing.ts";
import { type ReplacedBindings, World } from "../../support/world.ts";

const NAMED = "The home apac or the directory does not answer: GET /admin/homes says which.";

/** A directory in which only the statements with this text fail. */
const directoryFailingIn = (text: string): ReplacedBindings => ({
  DB: replacing(env.DB, {
    prepare: (sql: string) => (sql.includes(text) ? downDb(env.DB) : env.DB).prepare(sql),
  }),
});

const down: ReplacedBindings = { HOME_APAC: downDb(env.HOME_APAC) };

async function problemOf(answer: Response) {
  const { detail } = await answer.json<{ detail: string }>();
  return [answer.status, answer.headers.get("retry-after"), detail];
}

describe("the admin API names a home that does not answer", () => {
  const CALLS: [string, string, unknown?][] = [
    ["GET", "/agents"],
    ["GET", "/apps"],
    ["GET", "/sessions"],
    ["GET", "/sessions/1"],
    ["POST", "/agents", { id: 9, name: "Nine" }],
    ["POST", "/apps", { name: "App" }],
    ["PATCH", "", { name: "Renamed" }],
    ["PATCH", "/agents/1", { name: "Renamed" }],
  ];

  it("each call of the admin API about a site names a home that does not answer, and changes nothing", async () => {
    const world = (await World.create({}, "apac")).anotherIsolate(down);
    const before = await world.operated();
    for (const [method, path, body] of CALLS) {
      const answer = await world.admin(method, `/admin/sites/${world.siteId}${path}`, body);
      const untouched = method === "POST" && path === "/apps" ? " Nothing was changed." : "";
      expect([method, path, await problemOf(answer)]).toEqual([method, path, [503, "1", NAMED + untouched]]);
    }
    expect(await world.operated()).toEqual(before);
  });

  it.each([
    ["a site is created there", "/admin/sites", { name: "New", home: "apac" }],
    ["the home is reconciled after a restore", "/admin/homes/apac/restored", { force: true }],
  ])("the admin API names a home that does not answer when %s", async (_, path, body) => {
    const world = await World.create(down);
    expect(await problemOf(await world.admin("POST", path, body))).toEqual([503, "1", NAMED]);
  });

  it.each([
    ["a site is created there", "POST", "/admin/sites", { name: "New", home: "apac" }, 'into "sites"', ""],
    [
      "an app is issued there",
      "POST",
      "/admin/sites/:id/apps",
      { name: "App", appid: "may-be-kept" },
      'into "app_routes"',
      " The appid may-be-kept may be kept for this site and may have no app yet: send the same call again with it, or release it with DELETE /admin/apps/may-be-kept. If it has one after all, the call is 409, and DELETE revokes it.",
    ],
  ])(
    "the admin API names the silent home, and the directory that may be silent instead, when %s",
    async (_, method, path, body, failing, more) => {
      const world = await World.create({}, "apac");
      const broken = world.anotherIsolate(directoryFailingIn(failing));
      const answer = await broken.admin(method, path.replace(":id", String(world.siteId)), body);
      expect(await problemOf(answer)).toEqual([503, "1", NAMED + more]);
    },
  );

  it("GET /admin/homes says whether the home or the directory does not answer", async () => {
    const world = await World.create({}, "apac");
    const home = await world.anotherIsolate(down).admin("GET", "/admin/homes");
    const { items } = await home.json<{ items: unknown[] }>();
    expect([home.status, items[1]]).toMatchObject([200, { name: "apac", status: "down" }]);
    const directory = world.anotherIsolate({ DB: downDb(env.DB) });
    expect(await problemOf(await directory.admin("GET", "/admin/homes"))).toEqual([
      503,
      "1",
      "The directory, which is in the home main, does not answer or is not migrated.",
    ]);
  });

  it("the admin API names a home that is not migrated", async () => {
    const world = (await World.create({}, "apac")).anotherIsolate({ HOME_APAC: env.UNMIGRATED });
    const answer = await world.admin("POST", `/admin/sites/${world.siteId}/agents`, { id: 9, name: "Nine" });
    expect(await problemOf(answer)).toEqual([
      503,
      "30",
      "The home apac or the directory is not migrated: GET /admin/homes says which. A database is not migrated: npm run deploy migrates all of them.",
    ]);
  });

  it("the admin API names no home when the directory is at fault, or when there is one database", async () => {
    const apac = await World.create({}, "apac");
    const main = await World.create();
    const DB = () => faultyD1(env.DB, new Faults(() => "before"));
    for (const [world, bindings] of [
      [apac, {}],
      [main, { HOME_APAC: undefined }],
    ] as const) {
      const broken = world.anotherIsolate({ ...bindings, DB: DB() });
      const answer = await broken.admin("GET", `/admin/sites/${world.siteId}/agents`);
      expect(await problemOf(answer)).toEqual([503, "1", "Temporarily unavailable."]);
    }
  });

  it("the admin API says that a change reached the home when the directory missed its copy", async () => {
    const world = await World.create({}, "apac");
    const faults = new Faults(({ name }) => (name === "DB.run" ? "before" : undefined));
    const broken = world.anotherIsolate({ DB: faultyD1(env.DB, faults) });
    expect(await problemOf(await broken.admin("PATCH", `/admin/sites/${world.siteId}`, { status: "closed" }))).toEqual([
      503,
      "1",
      "The site is changed, but the directory does not know it: send the same change again.",
    ]);
    expect((await world.create()).status).toBe(503);
    expect((await world.admin("PATCH", `/admin/sites/${world.siteId}`, { status: "open" })).status).toBe(200);
    expect((await world.create()).status).toBe(200);
  });

  it("the answer to a signed call does not name a home that does not answer", async () => {
    const world = (await World.create({}, "apac")).anotherIsolate(down);
    const answer = await world.create();
    expect([answer.status, answer.headers.get("x-error-detail")]).toEqual([503, null]);
  });
});

describe("a home that answers nothing at all", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] }));
  afterEach(() => void vi.useRealTimers());

  it("after the time limit, the admin API names a home that does not answer", async () => {
    const world = await World.create({}, "apac");
    const faults = new Faults(() => "never done");
    const silent = world.anotherIsolate({ HOME_APAC: faultyD1(env.HOME_APAC, faults) });
    const answer = await withoutWaiting(silent.admin("GET", `/admin/sites/${world.siteId}/agents`), faults);
    expect(await problemOf(answer)).toEqual([503, "1", `${NAMED} No answer within 8 s.`]);
    await faults.end();
  });

  it("after the time limit, the console names a home that does not answer", async () => {
    const world = await World.create({}, "apac");
    const visitor = await ConsoleVisitor.signedIn(world);
    const faults = new Faults(() => "never done");
    const silent = visitor.through(world.anotherIsolate({ HOME_APAC: faultyD1(env.HOME_APAC, faults) }));
    const page = await withoutWaiting(silent.open(`/console/sites/${world.siteId}/agents`), faults);
    expect([page.status, page.heading]).toEqual([503, "The home apac or the directory does not answer"]);
    await faults.end();
  });
});
