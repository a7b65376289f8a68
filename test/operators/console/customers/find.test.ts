import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { closedHomeVars } from "../../../support/closed-home-vars.ts";
import type { ConsolePage } from "../../../support/console-page.ts";
import { ConsoleVisitor } from "../../../support/console-visitor.ts";
import { Faults, faultyD1 } from "../../../support/faulty-bindings.ts";
import { databaseOf } from "../../../support/homes.ts";
import { findCustomerPage, manyCustomers, SBS, start, watchVisitor } from "./customers-world.ts";

const idsOn = (page: ConsolePage) => page.rows.map(([, id]) => id);
const NOBODY = "Nobody's name begins so, as far as was looked.";

// `start` makes a site in another home than the directory, so that a read of the wrong database finds nothing.
describe("the search for customers", () => {
  it("customers are found by the beginning of their name, whatever the case of A to Z, with their latest session", async () => {
    const { world, visitor, path } = await start();
    await world.chatId({ sbs: "k-2", sbs_mc: "Ana Souza" });
    const latest = await world.chatId({ sbs: "k-2", sbs_mc: "Ana Souza", title: "Again" });
    await world.chatId({ sbs: "k-1", sbs_mc: "ANABEL", title: "First" });
    await world.chatId({ sbs: "k-3", sbs_mc: "Susana" });
    await world.chatId({ sbs: "k-4", sbs_mc: "林晓雯" });
    const page = await visitor.press(await visitor.open(path), "Find", { [SBS]: "aNa" });
    expect([page.status, page.value(SBS)]).toEqual([200, "aNa"]);
    expect(page.rows.map((row) => row.slice(0, 3))).toEqual([
      ["ANABEL", "k-1", "First"],
      ["Ana Souza", "k-2", "Again"],
    ]);
    expect(page.link("Ana Souza")).toBe(`${path}?chat_id=${latest}`);
    expect(idsOn(await findCustomerPage(visitor, path, "ana s"))).toEqual(["k-2"]);
    expect(idsOn(await findCustomerPage(visitor, path, "林"))).toEqual(["k-4"]);
    for (const text of ["%", "_na", "souza"]) expect((await findCustomerPage(visitor, path, text)).status).toBe(404);
    expect((await visitor.open(page.link("Latest customers"))).rows).toHaveLength(4);
  });

  it("an exact id leads to its customer at once, and stands above customers whose name begins with it", async () => {
    const { world, visitor, path } = await start();
    const exact = await world.chatId({ sbs: "ana", sbs_mc: "Ben" });
    expect((await findCustomerPage(visitor, path, "ana")).path).toBe(`${path}?chat_id=${exact}`);
    await world.chatId({ sbs: "k-1", sbs_mc: "Ana" });
    const page = await findCustomerPage(visitor, path, "ana");
    expect([page.text.includes("Exactly this id: Ben"), page.link("Ben")]).toEqual([true, `${path}?chat_id=${exact}`]);
    expect(idsOn(page)).toEqual(["k-1"]);
    // An id has no other case.
    expect((await findCustomerPage(visitor, path, "ANA")).text).not.toContain("Exactly this id");
  });

  it("the search for customers finds none of another site, and none without a session", async () => {
    const { world } = await start();
    await world.chatId({ sbs: "theirs", sbs_mc: "Ana" });
    const { world: own, visitor, path } = await start();
    await own.chatId({ sbs: "mine", sbs_mc: "Ben" });
    const { home, siteId } = own;
    await databaseOf(home)
      .prepare(
        "INSERT INTO customers SELECT site_id, 'without', 'Ana', ip, created_at, updated_at FROM customers WHERE site_id = ?",
      )
      .bind(siteId)
      .run();
    expect((await findCustomerPage(visitor, path, "Ana")).status).toBe(404);
  });

  it("the search for customers lists each customer once, page by page, forwards and back", async () => {
    const { world, visitor, path } = await start();
    await manyCustomers(world, 1, 60);
    const first = await findCustomerPage(visitor, path, "name");
    const second = await visitor.open(first.link("Next page"));
    const third = await visitor.open(second.link("Next page"));
    expect([first, second, third].map(({ rows }) => rows.length)).toEqual([25, 25, 10]);
    expect(new Set([first, second, third].flatMap(idsOn)).size).toBe(60);
    expect(third.html).not.toContain('rel="next"');
    expect(idsOn(await visitor.open(third.link("Previous page")))).toEqual(idsOn(second));
    expect(idsOn(await visitor.open(third.link("First page")))).toEqual(idsOn(first));
  });

  it("the addresses of pages of customers stay short however long the ids are, and still lead back", async () => {
    const { world, visitor, path } = await start();
    await manyCustomers(world, 1, 200);
    const { home, siteId } = world;
    const longer = (column: string) => `${column} = printf('%.*c', 58, '𝄞') || substr(${column}, -6)`;
    await databaseOf(home).batch([
      databaseOf(home).prepare("PRAGMA defer_foreign_keys = on"),
      databaseOf(home)
        .prepare(`UPDATE customers SET ${longer("external_id")} WHERE site_id = ?`)
        .bind(siteId),
      databaseOf(home)
        .prepare(`UPDATE sessions SET ${longer("customer_external_id")} WHERE site_id = ?`)
        .bind(siteId),
    ]);
    const pages = [await findCustomerPage(visitor, path, "Name")];
    while (pages.at(-1)?.html.includes('rel="next"'))
      pages.push(await visitor.open(pages.at(-1)?.link("Next page") ?? ""));
    expect(pages).toHaveLength(8);
    expect(Math.max(...pages.flatMap(({ links }) => links).map(({ length }) => length))).toBeLessThan(4_000);
    const back = await visitor.open(pages[7]?.link("Previous page") ?? "");
    expect(back.rows).toEqual(pages[6]?.rows);
  });

  it("the search for customers looks at 10,000 of them for a page, says how far it looked, and goes on", async () => {
    const { world, visitor, path } = await start();
    await manyCustomers(world, 1, 10_000);
    await world.chatId({ sbs: "z", sbs_mc: "Zoe" });
    const first = await findCustomerPage(visitor, path, "zoe");
    expect([first.rows, first.text.includes(NOBODY)]).toEqual([[], true]);
    expect(first.text).toContain(
      "10,000 customers were looked through, in the order of their ids, up to this one: id-010000",
    );
    const second = await visitor.open(first.link("Next page"));
    expect([idsOn(second), second.text.includes("were looked through")]).toEqual([["z"], false]);
    // The exact id is read by its key, so that it needs no look-through.
    expect((await findCustomerPage(visitor, path, "z")).heading).toBe("Zoe");
  });
});

describe("the address of a search for customers", () => {
  it("no address holds what was typed or a customer's id, and only the console session that searched can open one", async () => {
    const { world, path } = await start();
    await manyCustomers(world, 1, 30);
    const { visitor, addresses } = watchVisitor(world);
    await visitor.signIn();
    const page = await findCustomerPage(visitor, path, "Name 0");
    const second = await visitor.open(page.link("Next page"));
    await visitor.press(second, "中文");
    const words = ["Name 0", "id-000025"].flatMap((word) => [
      word,
      encodeURIComponent(word),
      new URLSearchParams({ word }).toString().slice(5),
      btoa(word).replace(/=+$/, ""),
    ]);
    for (const word of words) expect(addresses.join("\n")).not.toContain(word);
    const other = await ConsoleVisitor.signedIn(world);
    for (const address of [page.path, second.path]) {
      const lost = await other.open(address);
      expect([lost.status, lost.notices]).toEqual([200, ["Type it once more: your session is another one by now."]]);
      expect(lost.text).toContain("Latest customers");
    }
  });
});

describe("the search for customers in a home that does not serve", () => {
  it("the search for customers is 503 while the home is silent, and goes on while it is closed", async () => {
    const { world, visitor, path } = await start();
    await world.chatId({ sbs: "k-1", sbs_mc: "Ana" });
    const list = await visitor.open(path);
    const found = await findCustomerPage(visitor, path, "an");
    const silent = visitor.through(
      world.anotherIsolate({ HOME_APAC: faultyD1(env.HOME_APAC, new Faults(() => "before")) }),
    );
    for (const page of [await silent.press(list, "Find", { [SBS]: "an" }), await silent.open(found.path)])
      expect([page.status, page.heading]).toEqual([503, "The home apac or the directory does not answer"]);
    const closed = visitor.through(world.anotherIsolate(closedHomeVars("apac")));
    expect(idsOn(await closed.press(list, "Find", { [SBS]: "an" }))).toEqual(["k-1"]);
  });
});
