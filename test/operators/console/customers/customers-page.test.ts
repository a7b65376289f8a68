import { describe, expect, it } from "vitest";
import { databaseOf } from "../../../support/homes.ts";
import { NOW } from "../../../support/world.ts";
import { findCustomerPage, manySessions, start } from "./customers-world.ts";

const DAY = 86_400;

// `start` makes a site in another home than the directory, so that a read of the wrong database finds nothing.
describe("the customers of a site", () => {
  it("the list of customers shows each customer once, with the latest session, newest first", async () => {
    const { world, visitor, path } = await start();
    const site = path.replace("/customers", "");
    await world.chatId({ sbs: "a", sbs_mc: "Ana", title: "First" });
    const b = await world.chatId({ sbs: "b", sbs_mc: "<b>Ben</b>", content: "Where is it?" });
    world.clock.now = NOW + 2 * DAY;
    const a = await world.chatId({ sbs: "a", sbs_mc: "Ana Souza", title: "Second" });
    world.clock.now = NOW;
    const page = await visitor.open(path);
    expect(page.rows.map((row) => row.slice(0, 3))).toEqual([
      ["Ana Souza", "a", "Second"],
      ["<b>Ben</b>", "b", "Where is it?"],
    ]);
    expect([page.link("Ana Souza"), page.link("Second")]).toEqual([`${path}?chat_id=${a}`, `${site}/sessions/${a}`]);
    expect((await visitor.open(page.link("<b>Ben</b>"))).rows[0]?.[0]).toContain(String(b));
    const form = page.value("form");
    expect((await visitor.post(`${path}/find`, { form, sbs: "b" })).headers.get("location")).toBe(
      `${path}?chat_id=${b}`,
    );
  });

  it("the list of customers has none of other sites, and a site without customers links to its sessions", async () => {
    const { world } = await start();
    await world.chatId({ sbs: "theirs" });
    const { visitor, path } = await start();
    const page = await visitor.open(path);
    expect([page.rows, page.text.includes("No customer yet")]).toEqual([[], true]);
    expect((await visitor.open(page.link("how to open one"))).text).toContain("No session yet");
  });
});

describe("the page of a customer", () => {
  it("the page of a customer shows the name, the first and latest session, and the latest metadata", async () => {
    const { world, visitor, path } = await start();
    const customer = { sbs: "mei", sbs_mc: "Mei Tanaka", ip: "203.0.113.7" };
    const first = await world.chatId({ ...customer, metadata: { plan: "free", order: "1" } });
    await world.chatId({ sbs: "other", metadata: { secret: "of another" } });
    world.clock.now = NOW + 60;
    for (const order of ["2", "3", "4", "4"]) await world.chatId({ ...customer, metadata: { plan: "gold", order } });
    const last = await world.chatId({ ...customer, title: "Last" });
    const page = await findCustomerPage(visitor, path, "mei");
    expect([page.path, page.heading, page.html.includes("<title>Customer · ")]).toEqual([
      `${path}?chat_id=${last}`,
      "Mei Tanaka",
      true,
    ]);
    expect(["Customer id (sbs)", "Latest IP address", "Sessions"].map((term) => page.fact(term))).toEqual([
      "mei",
      "203.0.113.7",
      "6",
    ]);
    expect(page.fact("First session")).toBe(`15 Jan 2027, 08:00 · ${first}`);
    expect(page.fact("Latest session")).toBe(`15 Jan 2027, 08:01 · ${last}`);
    expect(page.fact("Metadata of the latest 20 sessions")).toBe("order 4 , 3 , 2 and 1 more values plan gold , free");
    expect([page.rows.length, page.text.includes("of another")]).toEqual([6, false]);
    expect(page.rows[0]?.[0]).toBe(`Last ${last}`);
  });

  it("each session of a customer links to the customer's page, which lists all sessions in pages", async () => {
    const { world, visitor, path } = await start();
    const ids = (await manySessions(world, "many", 45)).toReversed();
    const listedIds: number[] = [];
    let page = await visitor.open(`${path}?chat_id=7`);
    for (;;) {
      listedIds.push(...page.rows.map(([title = ""]) => Number(/\d+$/.exec(title)?.[0])));
      expect(page.heading).toBe("Many");
      if (!page.links.some((href) => href.includes("cursor=") && page.html.includes('rel="next"'))) break;
      page = await visitor.open(page.link("Next page"));
    }
    expect(listedIds).toEqual(ids);
  });

  it("a link to the customer of an unknown session shows the list of customers with a notice", async () => {
    const { visitor, path } = await start();
    for (const id of ["99", "x", "-1", "9".repeat(16)]) {
      const page = await visitor.open(`${path}?chat_id=${id}`);
      expect([page.status, page.heading, page.notices]).toEqual([200, "Customers", [`This site has no session ${id}`]]);
    }
  });

  it("a customer without a visible name is shown by the customer id", async () => {
    const { world, visitor, path } = await start();
    await world.chatId({ sbs: "mei" });
    const unnamed = databaseOf(world.home).prepare("UPDATE customers SET name = '\u200b' WHERE site_id = ?");
    await unnamed.bind(world.siteId).run();
    const page = await visitor.open((await visitor.open(path)).link("mei"));
    expect(page.heading).toBe("mei");
  });
});
