import { afterEach, describe, expect, it, vi } from "vitest";
import { start } from "../../../support/console-visitor.ts";
import { databaseOf } from "../../../support/homes.ts";
import { linksTo, newSession, searched } from "./search-world.ts";

afterEach(() => void vi.restoreAllMocks());

describe("a session is found by words of its titles", () => {
  it("a session is found by words of its titles in any script, case and with accents", async () => {
    const { world, visitor, site } = await start("main");
    const cases = [
      ["订单", "我的订单在哪里"],
      ["ORDER late", "Late order 17"],
      ["18　order", "Order 18"],
      ["100%", "100% off"],
      ["a_b", "a_b"],
      ['say "no" \'', "say \"no\" 'yes'"],
      ["x".repeat(64), `y${"x".repeat(64)}y`],
      ["مرحبا", "قال مرحبا"],
      ["<b>", "a <b> c"],
      ["\\", "back\\slash"],
    ] as const;
    for (const [id, [, autoTitle]] of cases.entries()) await newSession(world, 71 + id, { autoTitle });
    await newSession(world, 99, { autoTitle: "100 off, ayb, another thing" });
    for (const [id, [typed]] of cases.entries()) {
      const page = await searched(visitor, typed, world.siteId);
      const result = [typed, page.status, page.notices, linksTo(page, `${site}/sessions/`)];
      expect(result).toEqual([typed, 200, [], [`${site}/sessions/${71 + id}`]]);
    }
  });

  it("a session is found only when every word occurs in a title that readers see", async () => {
    const { world, visitor, site } = await start("main");
    await newSession(world, 71, {
      autoTitle: "hidden",
      agentTitle: "Seen by agents",
      visitorTitle: "Seen by visitors",
    });
    for (const typed of ["agents visitors", "by seen"])
      expect(linksTo(await searched(visitor, typed, world.siteId), `${site}/sessions/`)).toEqual([
        `${site}/sessions/71`,
      ]);
    for (const typed of ["hidden", "agents nobody"])
      expect(linksTo(await searched(visitor, typed, world.siteId), `${site}/sessions/`)).toEqual([]);
  });

  it("a session is found by its title among the newest 10,000 of its site, and the page says so", async () => {
    const { world, visitor, site } = await start("main");
    await newSession(world, 1, { autoTitle: "Needle" });
    await newSession(world, 2, { autoTitle: "Needle" });
    const seed = `INSERT INTO sessions (site_id, id, appid, kind, customer_external_id, status, auto_title, created_at)
      WITH RECURSIVE n(i) AS (SELECT 3 UNION ALL SELECT i + 1 FROM n WHERE i < 10001) SELECT ?, i, ?, 'chat', 'c1', 'waiting', 'Hay', 0 FROM n`;
    await databaseOf("main").prepare(seed).bind(world.siteId, world.appid).run();
    const page = await searched(visitor, "needle", world.siteId);
    expect(linksTo(page, `${site}/sessions/`)).toEqual([`${site}/sessions/2`]);
    expect(page.text).toContain("in the titles of the newest 10,000 sessions of each site");
  });

  it("the search shows the newest 20 sessions first, and says that there are more", async () => {
    const { world, visitor, site } = await start("main");
    for (let id = 1; id <= 21; id++) await newSession(world, id, { autoTitle: "Same" });
    const page = await searched(visitor, "same", world.siteId);
    const newest = Array.from({ length: 20 }, (_, i) => `${site}/sessions/${21 - i}`);
    expect(linksTo(page, `${site}/sessions/`)).toEqual(newest);
    expect(page.text).toContain("There are more. The first 20 are shown: type more of it.");
  });
});

describe("a chat_id", () => {
  it("a chat_id in the search leads straight to the session from the pages of its site", async () => {
    const { world, visitor, site } = await start("main");
    await newSession(world, 7_000_123);
    for (const typed of ["7000123", " #7000123 ", '"chat_id": 7000123,']) {
      const page = await searched(visitor, typed, world.siteId);
      expect([page.path, page.status]).toEqual([`${site}/sessions/7000123`, 200]);
    }
  });

  it("the search for a chat_id that is also an agent's id shows both", async () => {
    const { world, visitor, site } = await start("main");
    await newSession(world, 2);
    const page = await searched(visitor, "2", world.siteId);
    expect(page.links).toEqual(expect.arrayContaining([`${site}/sessions/2`, `${site}/agents/2`]));
    expect(page.links.indexOf(`${site}/sessions/2`)).toBeLessThan(page.links.indexOf(`${site}/agents/2`));
  });

  it("the search for a chat_id from pages without a site finds it on every site, with the site's name", async () => {
    const [one, other] = [await start(), await start("main")];
    for (const { world } of [one, other]) await newSession(world, 7_000_456);
    const page = await searched(other.visitor, "7000456");
    const [first, second] = [one, other].map(({ site }) => `${site}/sessions/7000456`);
    expect(page.links).toEqual(expect.arrayContaining([first, second, one.site, other.site]));
  });
});

describe("a customer", () => {
  it("a customer is found by the whole id, also with blanks around it, and the newest sessions come first", async () => {
    const { world, visitor, site } = await start("main");
    await newSession(world, 11, { customerExternalId: "Kim 0'7%" });
    await newSession(world, 12, { customerExternalId: "Kim 0'7%" });
    await newSession(world, 13, { customerExternalId: "Kim 0'70" });
    const page = await searched(visitor, "  Kim 0'7%  ", world.siteId);
    expect(page.html).toContain("<bdi>Ada</bdi></h2>");
    expect(linksTo(page, `${site}/sessions/`)).toEqual([`${site}/sessions/12`, `${site}/sessions/11`]);
    expect(page.link("To the customer's page")).toBe(`${site}/customers?chat_id=12`);
    for (const typed of ["kim 0'7%", "Kim 0'7"])
      expect(linksTo(await searched(visitor, typed), `${site}/sessions/`)).toEqual([]);
  });

  it("a searched customer id is in no address and no log line, and the page works in each language and after Back", async () => {
    const { world, visitor, site } = await start("main");
    await newSession(world, 11, { customerExternalId: "private-person" });
    const log = vi.spyOn(console, "log").mockReturnValue();
    const page = await searched(visitor, "private-person", world.siteId);
    const pageAgain = await visitor.open(page.path);
    const chinese = await visitor.press(pageAgain, "中文");
    expect(linksTo(chinese, `${site}/sessions/`)).toEqual([`${site}/sessions/11`]);
    for (const each of [page, pageAgain, chinese]) {
      expect(each.html).toContain('value="private-person"');
      expect([each.path, ...each.links].filter((href) => decodeURIComponent(href).includes("private"))).toEqual([]);
      expect(/<title>(.*?)<\/title>/.exec(each.html)?.[1]).not.toContain("private");
    }
    expect(log.mock.calls.length).toBeGreaterThan(3);
    expect(JSON.stringify(log.mock.calls)).not.toContain("private");
  });

  it("another session cannot read a searched customer id from the address", async () => {
    const { world, visitor } = await start("main");
    const { path } = await searched(visitor, "private-person", world.siteId);
    const other = await (await start("main")).visitor.open(path);
    expect([other.status, other.notices]).toEqual([200, ["Type it once more: your session is another one by now."]]);
    expect(other.html).not.toContain("private");
  });
});

describe("an app", () => {
  const startWithApp = async () => {
    const { world, ...others } = await start("main");
    const appid = `shop-${crypto.randomUUID()}`;
    await world.admin("POST", `/admin/sites/${world.siteId}/apps`, { name: "Corner Shop 角店", appid });
    return { world, ...others, appid };
  };

  it("the search leads to an app by its appid, and finds it by the first six characters, not five", async () => {
    const { world, visitor, site, appid } = await startWithApp();
    const foundLinks = async (typed: string) => linksTo(await searched(visitor, typed, world.siteId), `${site}/apps/`);
    expect(await foundLinks(appid.slice(0, 6))).toEqual([`${site}/apps/${appid}`]);
    expect(await foundLinks(appid.slice(0, 5))).toEqual([]);
    expect(await foundLinks(appid.slice(1, 12))).toEqual([]);
    expect((await searched(visitor, ` ${appid} `)).path).toBe(`${site}/apps/${appid}`);
  });

  it("a revoked app is found by words of its name, and is marked as revoked", async () => {
    const { world, visitor, site, appid } = await startWithApp();
    await world.admin("DELETE", `/admin/apps/${appid}`);
    const page = await searched(visitor, "角店 corner", world.siteId);
    expect(linksTo(page, `${site}/apps/`)).toEqual([`${site}/apps/${appid}`]);
    expect(page.rows.flat()).toContain("Revoked");
  });
});

describe("an agent", () => {
  it("an agent is found by the id and by words of the name", async () => {
    const { world, visitor, site } = await start("main");
    await world.admin("POST", `/admin/sites/${world.siteId}/agents`, { id: 7_000_001, name: "Zoë Quill" });
    for (const typed of ["7000001", "quill zoë", "UIL"]) {
      const page = await searched(visitor, typed, world.siteId);
      expect([typed, linksTo(page, `${site}/agents/`)]).toEqual([typed, [`${site}/agents/7000001`]]);
    }
  });
});

describe("a webhook and an event", () => {
  it("a webhook's id leads to the webhook, and an event's id to its session and webhooks", async () => {
    const { world, visitor, site } = await start("main");
    const events = ["session.created"];
    const url = "https://hooks.example.com/in";
    const answer = await world.admin("POST", `/admin/sites/${world.siteId}/webhooks`, { url, events });
    const { id } = await answer.json<{ id: string }>();
    expect((await searched(visitor, ` ${id.toUpperCase()} `)).path).toBe(`${site}/webhooks/${id}`);
    const chatId = await world.chatId();
    const [event] = (
      await databaseOf("main")
        .prepare("SELECT id FROM events WHERE site_id = ? AND session_id = ?")
        .bind(world.siteId, chatId)
        .all<{ id: string }>()
    ).results;
    const page = await searched(visitor, `webhook-id: ${event?.id}`, world.siteId);
    expect(page.link(`Session ${chatId}`)).toBe(`${site}/sessions/${chatId}`);
    expect(page.link(url)).toBe(`${site}/webhooks/${id}`);
    const unknown = await searched(visitor, `evt_${"0".repeat(32)}`);
    expect(unknown.text).toContain("An event was looked for among the newest 10,000 of each site.");
  });
});

describe("the search", () => {
  it("an empty search shows what can be searched for", async () => {
    const { visitor } = await start("main");
    for (const page of [await searched(visitor, " "), await visitor.open("/console/search")]) {
      expect([page.status, page.heading, page.path]).toEqual([200, "Search", "/console/search"]);
      expect(page.rows.map(([what]) => what)).toEqual([
        "A session",
        "A customer",
        "A call",
        "An app",
        "An agent",
        "A webhook",
        "An event",
        "A site",
      ]);
    }
  });

  it("a search without a hit says what was searched and what was not, and keeps the text", async () => {
    const { world, visitor } = await start("main");
    const page = await searched(visitor, "no such thing", world.siteId);
    expect([page.status, page.text.includes("Nothing was found for no such thing")]).toEqual([200, true]);
    expect(page.html).toContain('value="no such thing"');
    expect(page.html).toMatch(/<details class="far" open/);
    expect(page.text).toContain("What was written in sessions, and the names of customers, were not searched.");
  });

  it("a search refuses more than 200 characters and ignores words after the tenth", async () => {
    const { world, visitor, site } = await start("main");
    const long = await searched(visitor, "字".repeat(201));
    expect([long.status, long.notices]).toEqual([400, ["That is too long: a search has at most 200 characters."]]);
    expect((await searched(visitor, "🙂".repeat(200))).status).toBe(200);
    await newSession(world, 71, { autoTitle: "a b c d e f g h i j" });
    const page = await searched(visitor, "a b c d e f g h i j k", world.siteId);
    expect(linksTo(page, `${site}/sessions/`)).toEqual([`${site}/sessions/71`]);
    expect(page.text).toContain("Only the first 10 words were searched for.");
  });

  it("the search shows the typed text as text, not as HTML", async () => {
    const { visitor } = await start("main");
    const page = await searched(visitor, '"><script>alert(1)</script>\u202e');
    expect(page.html).not.toContain("<script>alert");
    expect(page.html).toContain("&lt;script&gt;alert(1)");
  });

  it("a site is found by words of its name", async () => {
    const { world, visitor, site } = await start("main");
    await world.admin("PATCH", `/admin/sites/${world.siteId}`, { name: "Nordlicht Outlet" });
    expect((await searched(visitor, "outlet NORD")).links).toContain(site);
  });
});
