import { beforeEach, describe, expect, it } from "vitest";
import { ConsoleVisitor, start } from "../../../support/console-visitor.ts";
import { databaseOf } from "../../../support/homes.ts";
import { seedAgents } from "../../../support/seed-agents.ts";
import { World } from "../../../support/world.ts";

/**
 * Each new site has the agents 1 to 4. The sites are in another home than the directory, so that a read of the wrong database
 * finds nothing.
 */

const HOME = "apac";

describe("the agents of a site", () => {
  let world: World;
  let visitor: ConsoleVisitor;
  let path: string;

  beforeEach(async () => {
    world = await World.create({}, HOME);
    visitor = await ConsoleVisitor.signedIn(world);
    path = `/console/sites/${world.siteId}/agents`;
  });

  const add = async (id: number, name: string) =>
    world.admin("POST", `/admin/sites/${world.siteId}/agents`, { id, name });

  const namesAt = async (query: string) => (await visitor.open(`${path}?${query}`)).rows.map(([name]) => name);

  it("agents are found by words of the name in any case and order, and by their whole id", async () => {
    await add(10411, "Amara Okafor");
    await add(104, "Łukasz Żak");
    await add(77, "林晓雯");
    expect(await namesAt("q=okafor+AMARA")).toEqual(["Amara Okafor"]);
    expect(await namesAt("q=afor")).toEqual(["Amara Okafor"]);
    expect(await namesAt(`q=${encodeURIComponent("żak")}`)).toEqual(["Łukasz Żak"]);
    expect(await namesAt(`q=${encodeURIComponent("晓")}`)).toEqual(["林晓雯"]);
    expect(await namesAt("q=104")).toEqual(["Łukasz Żak"]);
    expect(await namesAt("q=1041")).toEqual([]);
    expect(await namesAt("q=amara+souza")).toEqual([]);
  });

  it("agents are found by status together with a search, and each filter can be removed", async () => {
    await add(10411, "Amara Okafor");
    await add(10412, "Amara Souza");
    await world.admin("PATCH", `/admin/sites/${world.siteId}/agents/10412`, { status: "disabled" });
    expect(await namesAt("q=amara&status=normal")).toEqual(["Amara Okafor"]);
    const page = await visitor.open(`${path}?q=amara&status=disabled`);
    expect(page.rows.map(([name]) => name)).toEqual(["Amara Souza"]);
    expect(page.link("Status: Disabled Take this filter off")).toBe(`${path}?q=amara`);
    expect(page.link("Name or ID: amara Take this filter off")).toBe(`${path}?status=disabled`);
  });

  it("the list of agents keeps its filter on further pages and after a change of an agent", async () => {
    await seedAgents(
      world,
      Array.from({ length: 150 }, (_, i) => 1000 + i),
      [5000, 5001],
    );
    const first = await visitor.open(`${path}?q=agent&status=normal`);
    expect(first.rows).toHaveLength(50);
    const second = await visitor.open(first.link("Next page"));
    expect(second.rows.map(([name]) => name)).not.toContain("Agent 5000");
    const name = second.rows[0]?.[0];
    const changedPage = await visitor.press(second, `Disable ${name}`);
    expect(changedPage.notices).toEqual(["The agent was disabled."]);
    expect(changedPage.path).toContain("status=normal");
    expect(changedPage.rows.map(([each]) => each)).not.toContain(name);
  });

  it("an empty list of agents says whether the search found none or the site has none", async () => {
    const none = await visitor.open(`${path}?q=nobody`);
    expect(none.text).toContain("No agent fits this search.");
    expect(none.link("Show all agents")).toBe(path);
    await databaseOf(HOME).prepare("DELETE FROM agents WHERE site_id = ?").bind(world.siteId).run();
    expect((await visitor.open(path)).text).toContain("No agents yet.");
  });

  it("a search for agents finds only agents of this site", async () => {
    const other = await World.create({}, HOME);
    await other.admin("POST", `/admin/sites/${other.siteId}/agents`, { id: 10411, name: "Somebody else" });
    expect(await namesAt("q=somebody")).toEqual([]);
    expect(await namesAt("q=10411")).toEqual([]);
  });

  it("a search for agents goes on with the next page after 10,000 agents", async () => {
    await seedAgents(
      world,
      Array.from({ length: 10_001 }, (_, i) => 10_000 + i),
    );
    await add(30_000, "Amara Okafor");
    const first = await visitor.open(`${path}?q=okafor`);
    expect(first.rows).toEqual([]);
    expect(first.text).toContain("A search looks at 10,000 agents for one page");
    expect((await visitor.open(first.link("Next page"))).rows.map(([name]) => name)).toEqual(["Amara Okafor"]);
  });
});

describe("the menu of an agent", () => {
  it("the menu of an agent links to its sessions and to what the reader may change", async () => {
    const { visitor, site } = await start("main");
    const page = await visitor.open(`${site}/agents`);
    expect(page.link("Sessions of this agent Agent 1")).toBe(`${site}/sessions?agent=1`);
    expect(page.link("Rename Agent 1")).toContain(`${site}/agents/1?back=`);
    expect(page.has("Disable Agent 1")).toBe(true);
  });
});
