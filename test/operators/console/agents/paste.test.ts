import { describe, expect, it } from "vitest";
import { ConsoleVisitor } from "../../../support/console-visitor.ts";
import { World } from "../../../support/world.ts";

/** Agents are added from a pasted list. Each new site has the agents 1 to 4. */

async function start() {
  const world = await World.create();
  const visitor = await ConsoleVisitor.signedIn(world);
  const path = `/console/sites/${world.siteId}/agents`;
  const paste = async (list: string) =>
    visitor.press(await visitor.open(path), "Add all", { "One agent a line: id, name": list });
  const addedAgents = async () => (await world.operated()).agents.slice(4).map(({ id, name }) => [id, name]);
  return { world, visitor, path, paste, addedAgents };
}

describe("a pasted list of agents", () => {
  it("a pasted list of 50 agents with 3 wrong lines is added after one correction of these lines", async () => {
    const { world, visitor, paste, addedAgents } = await start();
    const lines = Array.from({ length: 50 }, (_, i) => `${100 + i},Person ${i}`);
    lines[6] = "x7,Person 6";
    lines[18] = "118";
    lines[32] = "100,Twice";
    const page = await paste(["id,name", ...lines].join("\r\n"));
    expect(page.status).toBe(400);
    expect(page.text).toContain("Right lines: 47. Wrong lines: 3. No agent was added yet.");
    // Lines are numbered as they were pasted, with the header.
    expect([...page.html.matchAll(/<li>Line (\d+) /g)].map(([, line]) => line)).toEqual(["8", "20", "34"]);
    expect(page.value("The wrong lines").split("\r\n")).toEqual(["x7,Person 6", "118", "100,Twice"]);
    expect(await addedAgents()).toEqual([]);
    const fixed = "106,Person 6\r\n118,Person 18\r\n132,Person 32";
    const donePage = await visitor.press(page, "Add all", { "The wrong lines": fixed });
    expect(donePage.notices).toEqual(["50 agents were added."]);
    expect((await addedAgents()).map(([id]) => id)).toEqual(Array.from({ length: 50 }, (_, i) => 100 + i));
    expect((await world.operated()).audit.filter(({ action }) => action === "agent.added")).toHaveLength(1);
  });

  it("a corrected list of agents shows only the lines still wrong, and deleted lines are left out", async () => {
    const { visitor, paste, addedAgents } = await start();
    const page = await paste("10,Ana\r\nx,Ben\r\ny,Cem");
    const pageAgain = await visitor.press(page, "Add all", { "The wrong lines": "12,Ben\r\n10,Cem" });
    expect(pageAgain.status).toBe(400);
    expect(pageAgain.text).toContain("Right lines: 2. Wrong lines: 1.");
    expect(pageAgain.html).toContain("<li>Line 2 <code>10,Cem</code>: The id stands on an earlier line too.</li>");
    expect([pageAgain.value("The wrong lines"), pageAgain.value("They are added too")]).toEqual([
      "10,Cem",
      "10,Ana\r\n12,Ben",
    ]);
    expect(await addedAgents()).toEqual([]);
    const donePage = await visitor.press(pageAgain, "Add all", { "The wrong lines": "" });
    expect(donePage.notices).toEqual(["2 agents were added."]);
    expect(await addedAgents()).toEqual([
      [10, "Ana"],
      [12, "Ben"],
    ]);
  });

  it("a pasted list adds nothing when an id was taken meanwhile, and names that line", async () => {
    const { world, visitor, paste, addedAgents } = await start();
    const page = await paste("10,Ana\r\nx,Ben");
    await world.admin("POST", `/admin/sites/${world.siteId}/agents`, { id: 10, name: "Earlier" });
    const pageAgain = await visitor.press(page, "Add all", { "The wrong lines": "11,Ben" });
    expect(pageAgain.html).toContain("<li><code>10,Ana</code>: The site has an agent of this id.</li>");
    expect(pageAgain.value("They are added too")).toBe("11,Ben");
    expect(await addedAgents()).toEqual([[10, "Earlier"]]);
  });

  it("a pasted list of agents keeps its right and wrong lines when the language changes", async () => {
    const { visitor, paste, addedAgents } = await start();
    const chinese = await visitor.press(await paste("10,Ana\r\nx,Ben"), "中文");
    expect([chinese.value("有误的行"), chinese.value("这些行也会一起添加")]).toEqual(["x,Ben", "10,Ana"]);
    expect(chinese.text).toContain("正确的行：1。有误的行：1。");
    expect(await addedAgents()).toEqual([]);
  });

  it("a pasted list of agents keeps its right lines when its correction is shown in another session", async () => {
    const { world, paste } = await start();
    const other = await ConsoleVisitor.signedIn(world);
    const draft = await other.press(await paste("10,Ana\r\nx,Ben"), "Add all", { "The wrong lines": "11,Ben" });
    expect(draft.notices).toEqual(["Not sent yet: look the form over and send it."]);
    expect((await other.press(draft, "Add all")).notices).toEqual(["2 agents were added."]);
  });

  it("a pasted list of agents that is too long comes back whole, and adds nothing", async () => {
    const { paste, addedAgents } = await start();
    const list = Array.from({ length: 1_002 }, (_, i) => `${100 + i},A`).join("\r\n");
    const page = await paste(list);
    expect(page.text).toContain("A list holds 1000 agents at most.");
    expect(page.value("One agent a line: id, name")).toBe(list);
    expect(await addedAgents()).toEqual([]);
  });

  it("a pasted list of one line says that one agent was added", async () => {
    const { paste, addedAgents } = await start();
    expect((await paste("ID;Name;;;\r\n10;Ana;;;\r\n;;;;")).notices).toEqual(["The agent was added."]);
    expect(await addedAgents()).toEqual([[10, "Ana"]]);
  });
});
