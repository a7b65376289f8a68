import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { LOOKED_THROUGH } from "../../../../src/operators/services/sessions.ts";
import { visitorWithRole } from "../../../support/access-world.ts";
import { start } from "../../../support/console-visitor.ts";
import { Faults, faultyD1 } from "../../../support/faulty-bindings.ts";
import { databaseOf } from "../../../support/homes.ts";
import { NOW } from "../../../support/world.ts";
import { manySessions } from "../customers/customers-world.ts";

// Each new site has the agents 1 to 4. `start` makes it in another home than the directory, so that a read of the wrong database finds
// nothing.

const RESPONSIBLE = "Sessions where they are responsible";
const PARTICIPANT = "Sessions where they take part";

/** The ids of the sessions below a heading of the page, in their order. */
function idsBelow(html: string, heading: string): number[] {
  const [, section = ""] = html.split(`<h2>${heading}</h2>`);
  return [...(section.split("</section>")[0] ?? "").matchAll(/sessions\/(\d+)"/g)].map(([, id]) => Number(id));
}

describe("the page of an agent", () => {
  it("the page of an agent lists the sessions where they are responsible and those where they only take part, apart", async () => {
    const { world, visitor, site } = await start();
    const both = await world.chatId({ kefu_id: [1, 2], fzr_uid: 1 });
    const takesPart = await world.chatId({ kefu_id: [1, 2], fzr_uid: 2 });
    const alone = await world.chatId({ kefu_id: [1], fzr_uid: 1 });
    await world.chatId({ kefu_id: [3], fzr_uid: 3 });
    const page = await visitor.open((await visitor.open(`${site}/agents`)).link("Agent 1"));
    expect([page.path, page.heading]).toEqual([`${site}/agents/1`, "Agent 1"]);
    expect([page.code("agent-id"), page.fact("Status")]).toEqual(["1", "Normal"]);
    expect([idsBelow(page.html, RESPONSIBLE), idsBelow(page.html, PARTICIPANT)]).toEqual([[alone, both], [takesPart]]);
  });

  it("the page of an agent filters both lists by status, and one list can be shown alone", async () => {
    const { world, visitor, site } = await start();
    const create = (fzr_uid: number, sender_type: number) => world.chatId({ kefu_id: [1, 2], fzr_uid, sender_type });
    const waiting = await create(1, 1);
    const replied = await create(1, 2);
    const other = await create(2, 1);
    const otherReplied = await create(2, 2);
    const page = await visitor.open(`${site}/agents/1?status=replied`);
    expect([idsBelow(page.html, RESPONSIBLE), idsBelow(page.html, PARTICIPANT)]).toEqual([[replied], [otherReplied]]);
    expect(page.link("Status: Replied Take this filter off")).toBe(`${site}/agents/1`);
    const alone = await visitor.open(`${site}/agents/1?status=waiting&part=participant`);
    expect([idsBelow(alone.html, PARTICIPANT), alone.html.includes(`<h2>${RESPONSIBLE}`)]).toEqual([[other], false]);
    const left = await visitor.open(page.link("Sessions where they are responsible: 2"));
    expect([idsBelow(left.html, RESPONSIBLE), left.html.includes(`<h2>${PARTICIPANT}`)]).toEqual([
      [replied, waiting],
      false,
    ]);
  });

  it("the next page of a list of an agent's sessions shows that list alone, each session once", async () => {
    const { world, visitor, site } = await start();
    await manySessions(world, "many", 25);
    const first = await visitor.open(`${site}/agents/1`);
    const second = await visitor.open(first.link("Next page"));
    const third = await visitor.open(second.link("Next page"));
    const listedIds = [first, second, third].flatMap(({ html }) => idsBelow(html, RESPONSIBLE));
    expect(listedIds).toEqual(Array.from({ length: 25 }, (_, i) => 25 - i));
    expect([second.html.includes(`<h2>${PARTICIPANT}`), third.html.includes('rel="next"')]).toEqual([false, false]);
  });

  it("a list of an agent's sessions looks at 10,000 sessions for a page, says how far it looked, and goes on", async () => {
    const { world, visitor, site } = await start();
    const oldest = await world.chatId({ kefu_id: [2], fzr_uid: 2 });
    await databaseOf(world.home)
      .prepare(
        `WITH RECURSIVE n(i) AS (SELECT ?1 + 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1 + ?3)
         INSERT INTO sessions (id, site_id, appid, kind, customer_external_id, responsible_agent_id, status, auto_title, created_at)
         SELECT i, ?2, 'app', 'ticket', (SELECT external_id FROM customers WHERE site_id = ?2), 1, 'waiting', '', ?4 FROM n`,
      )
      .bind(oldest, world.siteId, LOOKED_THROUGH, NOW)
      .run();
    const page = await visitor.open(`${site}/agents/2?part=responsible`);
    expect(idsBelow(page.html, RESPONSIBLE)).toEqual([]);
    expect(page.text).toContain(`10,000 sessions were looked through, back to session ${oldest + 1}.`);
    expect(idsBelow((await visitor.open(page.link("Next page"))).html, RESPONSIBLE)).toEqual([oldest]);
    expect((await visitor.open(`${site}/agents/1`)).text).toContain("where they are responsible: 100+");
  });

  it("the history of an agent has what the audit log says of them, and nothing of a site or another agent", async () => {
    const { world, visitor, site } = await start();
    const at = `/admin/sites/${world.siteId}/agents`;
    const id = world.siteId;
    await world.admin("POST", at, { id: 70, name: "Somebody" });
    if (id > 4) await world.admin("POST", at, { id, name: "Ana" });
    world.clock.now = NOW + 60;
    await world.admin("PATCH", `${at}/${id}`, { status: "disabled" });
    world.clock.now = NOW + 120;
    await world.admin("PATCH", `${at}/${id}`, { name: "Ana Costa" });
    await world.admin("PATCH", `/admin/sites/${world.siteId}`, { name: "Renamed site" });
    const page = await visitor.open(`${site}/agents/${id}`);
    expect(page.rows.slice(0, 2)).toEqual([
      ["Agent renamed", "Ana → Ana Costa", "ADMIN_TOKEN", "now"],
      ["Agent disabled", "Ana · Normal → Disabled", "ADMIN_TOKEN", "1 min ago"],
    ]);
    expect(page.rows.every(([what]) => what?.startsWith("Agent "))).toBe(true);
    expect([page.fact("Status"), page.fact("Status since")]).toEqual(["Disabled", "15 Jan 2027, 08:01"]);
    const log = await visitor.open(page.link("All of it in the audit log"));
    expect(log.path).toBe(`${site}/audit?subject=${id}`);
  });

  it("an agent is renamed, disabled and enabled on their page, which stays", async () => {
    const { world, visitor, site } = await start();
    const path = `${site}/agents/3`;
    await world.chatId({ kefu_id: [3], fzr_uid: 3 });
    const renamed = await visitor.press(await visitor.open(path), "Rename", { Name: "Ana Costa" });
    expect([renamed.path.split("?")[0], renamed.heading, renamed.notices]).toEqual([
      path,
      "Ana Costa",
      ["The agent was renamed."],
    ]);
    expect(renamed.text).toContain("Sessions where they are responsible: 1");
    const disabled = await visitor.press(renamed, "Disable");
    expect([disabled.path.split("?")[0], disabled.notices]).toEqual([path, ["The agent was disabled."]]);
    // What the page said of it.
    expect((await world.create({ kefu_id: [3, 1], fzr_uid: 1 })).envelope.code).not.toBe(1);
    expect(idsBelow(disabled.html, RESPONSIBLE)).toHaveLength(1);
    const enabled = await visitor.press(disabled, "Enable");
    expect([enabled.notices, enabled.fact("Status")]).toEqual([["The agent was enabled."], "Normal"]);
    const { agents, audit } = await world.operated();
    expect(agents.find(({ id }) => id === 3)).toMatchObject({ name: "Ana Costa", status: "normal", revision: 3 });
    expect(audit.slice(-3).map(({ action }) => action)).toEqual(["agent.renamed", "agent.disabled", "agent.enabled"]);
    const wrong = await visitor.press(enabled, "Rename", { Name: "\u200b" });
    expect([wrong.status, wrong.value("Name"), wrong.error("Name")]).toEqual([
      400,
      "\u200b",
      expect.stringContaining("visible"),
    ]);
    expect((await world.operated()).agents).toEqual(agents);
  });

  it("a viewer sees the page of an agent without the forms that change one", async () => {
    const { world, site } = await start();
    const visitor = await visitorWithRole(world, "viewer");
    const page = await visitor.open((await visitor.open(`${site}/agents`)).link("Agent 2"));
    expect([page.status, page.heading, page.has("Rename"), page.has("Disable")]).toEqual([
      200,
      "Agent 2",
      false,
      false,
    ]);
    expect(page.forms.filter(({ path }) => path.includes("/agents/") && !path.endsWith("/agents/2"))).toEqual([]);
  });

  it("the page of an agent says which home's part of the history is missing", async () => {
    const { world, visitor, site } = await start();
    // Of this page's reads of the home, only those of the audit log are batches.
    const noAudit = new Faults(({ name }) => (name.endsWith(".batch") ? "before" : undefined));
    const page = await visitor
      .through(world.anotherIsolate({ HOME_APAC: faultyD1(env.HOME_APAC, noAudit) }))
      .open(`${site}/agents/1`);
    expect([page.status, page.heading]).toEqual([200, "Agent 1"]);
    expect(page.text).toContain("Homes that do not answer: apac");
  });
});
