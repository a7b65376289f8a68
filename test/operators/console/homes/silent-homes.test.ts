import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { closedHomeVars } from "../../../support/closed-home-vars.ts";
import { type ConsoleVisitor, start } from "../../../support/console-visitor.ts";
import { downDb } from "../../../support/down-db.ts";
import { Faults, faultyD1 } from "../../../support/faulty-bindings.ts";
import { replacing } from "../../../support/replacing.ts";
import { NOW, World } from "../../../support/world.ts";

const brokenHome = () => ({ HOME_APAC: faultyD1(env.HOME_APAC, new Faults(() => "before")) });

/** A directory without this table. */
const unmigratedIn = (table: string) =>
  replacing(env.DB, {
    prepare: (sql: string) => (sql.includes(`from "${table}"`) ? env.UNMIGRATED : env.DB).prepare(sql),
  });

/** The page of the list of sites that shows this site. */
const openList = (visitor: ConsoleVisitor, siteId: number) => visitor.open(`/console?q=${siteId}`);

describe("a site of a home that does not serve", () => {
  let world: World;
  let visitor: ConsoleVisitor;
  let site: string;
  beforeAll(async () => {
    ({ world, visitor, site } = await start());
  });

  it("the pages of a site say that its home is closed", async () => {
    const closedVisitor = visitor.through(world.anotherIsolate(closedHomeVars("apac")));
    for (const tab of ["", "/apps", "/settings"]) {
      const page = await closedVisitor.open(site + tab);
      expect([page.status, page.notices]).toEqual([200, ["The home apac is closed"]]);
    }
  });

  it("the pages of a site that need its home name the home when it is down", async () => {
    const brokenVisitor = visitor.through(world.anotherIsolate(brokenHome()));
    for (const tab of ["/sessions", "/apps", "/agents", "/agents/1"]) {
      const page = await brokenVisitor.open(site + tab);
      expect([tab, page.status, page.heading]).toEqual([tab, 503, "The home apac or the directory does not answer"]);
      expect(page.link("See under Homes which of them it is")).toBe("/console/homes");
      expect(page.headers.get("retry-after")).toBe("1");
    }
  });

  it("the error page names the directory too when the directory may be the failing database", async () => {
    const prepare = (sql: string) => (sql.includes('into "sites"') ? downDb(env.DB) : env.DB).prepare(sql);
    const brokenVisitor = visitor.through(world.anotherIsolate({ DB: replacing(env.DB, { prepare }) }));
    const fill = { Name: "New", Home: "apac" };
    const page = await brokenVisitor.press(await brokenVisitor.open("/console"), "Create site", fill);
    expect([page.status, page.heading]).toEqual([503, "The home apac or the directory does not answer"]);
    expect(page.link("See under Homes which of them it is")).toBe("/console/homes");
  });

  it.each([
    ["apac", { HOME_APAC: env.UNMIGRATED }, "The home apac or the directory is not migrated"],
    ["main", { DB: unmigratedIn("agents") }, "A database is not migrated"],
  ])(
    "the error page and the badge of the site say that a database is not migrated, for a site of %s",
    async (home, bindings, heading) => {
      const { visitor, world, site } = await start(home);
      const page = await visitor.through(world.anotherIsolate(bindings)).open(`${site}/agents`);
      expect([page.status, page.heading]).toEqual([503, heading]);
      expect(page.text).toContain("npm run deploy migrates all databases.");
      expect(page.text).toContain(`Home ${home} Not migrated Overview`);
    },
  );

  it("the error page of a silent directory leads to the same page, and that of a wrong setting says what to do", async () => {
    const silent = await visitor.through(world.anotherIsolate({ DB: downDb(env.DB) })).open(`${site}/apps?cursor=`);
    expect([silent.status, silent.heading]).toEqual([503, "The database does not answer"]);
    expect(silent.link("Try again")).toBe(`${site}/apps?cursor=`);
    const wrong = await visitor.through(world.anotherIsolate({ MASTER_KEY: "" })).open("/console");
    expect([wrong.status, wrong.heading]).toEqual([500, "A setting of the deployment is wrong"]);
    expect(wrong.text).toContain("Correct it and deploy again: MASTER_KEY is not set");
  });

  it("the error page, the audit log and its file say that a home has no database", async () => {
    const unbound = visitor.through(world.anotherIsolate({ HOME_APAC: undefined }));
    const page = await unbound.open(`${site}/apps`);
    expect([page.status, page.heading]).toEqual([503, "The home apac has no database"]);
    expect(page.text).toContain("Its sites stop until one is bound as HOME_APAC. Those of other homes go on.");
    // The header has such a link on every page.
    expect(page.links.filter((href) => href === "/console/homes")).toHaveLength(2);
    const list = await openList(unbound, world.siteId);
    expect(list.rows[0]?.slice(2, 4)).toEqual(["apac", "Not bound"]);
    for (const path of [site, "/console"]) {
      const log = await unbound.open(`${path}/audit`);
      expect([path, log.status, log.notices]).toEqual([path, 200, ["Homes that do not answer: apac (Not bound)"]]);
      expect(await unbound.page(`${path}/audit.csv`)).toContain("Homes that do not answer: apac (Not bound)");
    }
  });

  it("the overview of a site shows the parts that could be read, and says that the rest is missing", async () => {
    const db = new Proxy(env.HOME_APAC, {
      get: (target, name) =>
        name === "prepare"
          ? (sql: string) => {
              if (sql.includes('from "agents"')) throw new Error("D1_ERROR: Network connection lost.");
              return target.prepare(sql);
            }
          : Reflect.get(target, name).bind(target),
    });
    const page = await visitor.through(world.anotherIsolate({ HOME_APAC: db })).open(site);
    expect(page.status).toBe(200);
    expect(page.text).toContain("Agents Manage agents This part could not be read. Try again in a moment.");
    expect(page.text.match(/could not be read/g)).toHaveLength(1);
    expect(page.link("App")).toBe(`${site}/apps/${world.appid}`);
  });
});

describe("the audit pages of several homes", () => {
  it("the audit pages name the home of each entry, and the homes whose entries are missing", async () => {
    const { visitor, world, site } = await start();
    const main = await World.create();
    // These entries are later than those of other tests, so the first page has them.
    for (const each of [world, main]) {
      const later = each.anotherIsolate();
      later.clock.now = NOW + 10_000_000;
      await later.admin("PATCH", `/admin/sites/${each.siteId}`, { name: "Renamed" });
    }
    const all = await visitor.open("/console/audit");
    const homeOf = (row: string[]) => / Home (\w+)/.exec(row.at(-1) ?? "")?.[1];
    const homes = new Set(all.rows.map(homeOf));
    expect(homes).toEqual(new Set(["main", "apac"]));
    const ofSite = await visitor.open(`${site}/audit`);
    expect(ofSite.rows.map((row) => `${row[1]} (${homeOf(row)})`)).toEqual([
      "Site renamed Site → Renamed (apac)",
      "App issued App (apac)",
      "Site created Site (apac)",
      "Appid kept for the site App (main)",
      "Site begun Site · home apac (main)",
    ]);
    const brokenVisitor = visitor.through(world.anotherIsolate(brokenHome()));
    const some = await brokenVisitor.open("/console/audit");
    expect([some.status, some.notices]).toEqual([200, ["Homes that do not answer: apac"]]);
    expect(new Set(some.rows.map(homeOf))).toEqual(new Set(["main"]));
    expect((await brokenVisitor.open(`/console/sites/${main.siteId}/audit`)).notices).toEqual([]);
  });
});
