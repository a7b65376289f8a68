import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { onlyFound, search } from "../../../../src/operators/services/search.ts";
import { visitorWithRole } from "../../../support/access-world.ts";
import { start } from "../../../support/console-visitor.ts";
import { downDb } from "../../../support/down-db.ts";
import { contextAt } from "../../../support/service-context.ts";
import { endSite } from "../../../support/site-end.ts";
import { NOW, World } from "../../../support/world.ts";
import { linksTo, newSession, searched } from "./search-world.ts";

describe("what a reader finds", () => {
  it("a viewer finds sessions in the search too, without links that only owners may open", async () => {
    const { world, site } = await start("main");
    await newSession(world, 11, { customerExternalId: "k-1", autoTitle: "Nothing special" });
    const foundBy = async (role: "viewer" | "owner") => {
      const page = await searched(await visitorWithRole(world, role), "k-1", world.siteId);
      return [linksTo(page, `${site}/sessions/`), linksTo(page, `${site}/customers`)];
    };
    expect(await foundBy("owner")).toEqual([[`${site}/sessions/11`], [`${site}/customers?chat_id=11`]]);
    expect((await foundBy("viewer"))[0]).toEqual([`${site}/sessions/11`]);
  });

  it("a viewer who finds an agent is led to the agent's page, as an operator is", async () => {
    const world = await World.create();
    const site = `/console/sites/${world.siteId}`;
    const hrefs = async (role: "viewer" | "operator") =>
      linksTo(await searched(await visitorWithRole(world, role), "Agent 2", world.siteId), `${site}/agents`);
    expect([await hrefs("viewer"), await hrefs("operator")]).toEqual([[`${site}/agents/2`], [`${site}/agents/2`]]);
  });

  it("an operator of one site finds only things of that site in the search, whatever site is named", async () => {
    const [ownWorld, other] = [await World.create(), await World.create({}, "apac")];
    for (const world of [ownWorld, other])
      await newSession(world, 7_100_000, { autoTitle: "Same words", customerExternalId: "same" });
    const answer = await other.create();
    const requestId = answer.headers.get("x-request-id") ?? "";
    const who = { kind: "token", id: "tok_1", name: "Nightly" } as const;
    const ctx = { ...contextAt(NOW), identity: { who, role: "viewer", onlySite: ownWorld.siteId } as const };
    for (const openSite of [undefined, ownWorld.siteId, other.siteId]) {
      for (const typed of ["same words", "same", "7100000", requestId, other.appid, "Site", String(other.siteId)]) {
        const result = await search(ctx, { typed, openSite });
        const { sessions, titles, customers, sessionsOf, apps, agents, calls, namedSites } = result;
        const ids = [sessions, titles, customers, sessionsOf, apps, agents, calls].flat().map(({ siteId }) => siteId);
        expect(
          [...ids, ...namedSites.map(({ id }) => id), ...result.sites.keys(), ownWorld.siteId].filter(
            (id) => id !== ownWorld.siteId,
          ),
        ).toEqual([]);
      }
    }
    expect(onlyFound(await search(ctx, { typed: requestId }), undefined)).toBeUndefined();
  });

  it("the search finds nothing of a site that is being deleted", async () => {
    const { world, visitor, site } = await start("main");
    await newSession(world, 11, { autoTitle: "Gone with it" });
    await endSite(world);
    const page = await searched(visitor, "gone with it", world.siteId);
    expect(page.links.filter((href) => href.startsWith(site))).toEqual([]);
  });
});

describe("a home that is down", () => {
  it("the search names a home that is down and finds the things of other homes", async () => {
    const { world, visitor, site } = await start("main");
    const farWorld = await World.create({}, "apac");
    for (const each of [world, farWorld]) await newSession(each, 7_200_000, { autoTitle: "Zebra" });
    for (const HOME_APAC of [downDb(env.HOME_APAC), undefined, env.UNMIGRATED]) {
      const page = await searched(visitor.through(world.anotherIsolate({ HOME_APAC })), "zebra", world.siteId);
      expect([page.status, page.notices]).toEqual([200, ["Homes that do not answer: apac"]]);
      expect(page.text).toContain("What they have is missing here. Search again later.");
      expect(linksTo(page, `${site}/sessions/`)).toEqual([`${site}/sessions/7200000`]);
    }
  });
});

describe("many sites", () => {
  /** Makes more sites than a search for ids looks at. */
  const seedSites = async () => {
    const row = "SELECT 5000000 + i, 'Many ' || i, 'main', 1, 'open', 0, 0 FROM n";
    const numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 250)";
    const into = "INSERT INTO sites (id, name, home, first_chat_id, status, revision, created_at)";
    await env.DB.prepare(`${into} ${numbers} ${row}`).run();
  };

  it("the search looks at a bounded number of sites, first at the site of its page, and says how many it left out", async () => {
    const { world, visitor, site } = await start("main");
    await seedSites();
    const last = { ...world, siteId: 5_000_250 };
    await env.DB.prepare(
      "INSERT INTO home_sites (site_id, name, status, chat_id_floor, revision, created_at) VALUES (?, 'Many 250', 'open', 0, 0, 0)",
    )
      .bind(last.siteId)
      .run();
    for (const each of [world, last])
      await newSession(each, 7_300_000, { autoTitle: "Lynx", customerExternalId: "lynx-1" });
    const here = await searched(visitor, "lynx", world.siteId);
    expect(linksTo(here, `${site}/sessions/`)).toEqual([`${site}/sessions/7300000`]);
    expect(here.text).toMatch(/Words and events were looked for on 20 sites of each home, and not on \d+ more/);
    expect(here.text).toMatch(/Ids were looked for on 200 sites of each home, and not on \d+ more/);
    const from = (openSite?: number) => searched(visitor, "lynx-1", openSite);
    expect(linksTo(await from(), `/console/sites/${last.siteId}/`)).toEqual([]);
    expect(linksTo(await from(last.siteId), `/console/sites/${last.siteId}/sessions/`)).toEqual([
      `/console/sites/${last.siteId}/sessions/7300000`,
    ]);
  });
});
