import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { SESSION_FIELDS } from "../../../../src/core/store/schema.ts";
import { visitorWithRole } from "../../../support/access-world.ts";
import type { ConsoleVisitor } from "../../../support/console-visitor.ts";
import { newWebhook } from "../../../support/new-webhook.ts";
import { seedAgents } from "../../../support/seed-agents.ts";
import { seedSession } from "../../../support/seed-session.ts";
import { NOW, World } from "../../../support/world.ts";
import { start } from "./sessions-world.ts";

/** The timeline of a session, one text for each second. */
const timelineOf = (html: string): string[] => {
  const [, list = ""] = /<ol class="timeline">(.*?)<\/ol>/s.exec(html) ?? [];
  return [...list.matchAll(/<li><time.*?<\/time>(.*?)<\/li>(?=<li><time|$)/gs)].map(([, item = ""]) =>
    item
      .replace(/<[^>]*>/g, " ")
      .replace(/\s+/g, " ")
      .trim(),
  );
};

describe("the page of a session", () => {
  it("the page of a session shows the messages, the participants and the titles, all escaped", async () => {
    const { world, visitor, path } = await start();
    const id = await world.chatId({
      sender_type: 1,
      sbs_mc: "<b>Mei</b>",
      title: "<i>Title</i>",
      content: "<script>alert(1)</script>\nsecond line",
      kefu_id: [1, 2, 3],
    });
    const page = await visitor.page(`${path}/${id}`);
    expect(page).toContain('<p class="said">&lt;script&gt;alert(1)&lt;/script&gt;\nsecond line</p>');
    expect(page).toContain('<li class="visitor">');
    expect(page).toContain("<strong><bdi>&lt;b&gt;Mei&lt;/b&gt;</bdi></strong>");
    for (const text of [
      "<bdi>Agent 1</bdi> (1)",
      "<bdi>Agent 2</bdi> (2)",
      "<bdi>Agent 3</bdi> (3)",
      "&lt;i&gt;Title&lt;/i&gt;",
      "127.0.0.1",
      "Waiting",
    ]) {
      expect(page).toContain(text);
    }
    expect(page).not.toMatch(/<script>|<b>|<i>/);
    const system = await world.chatId({ sender_type: 3 });
    expect(await visitor.page(`${path}/${system}`)).toContain("System (uid 0)");
  });

  it("the page of a session shows the title once, at the top, and keeps it out of the browser's history", async () => {
    const { world, visitor, path } = await start();
    const id = await world.chatId({ title: "Parcel not received", content: "Where is it?" });
    const page = await visitor.open(`${path}/${id}`);
    expect([page.heading, page.html.match(/Parcel not received/g)?.length]).toEqual(["Parcel not received", 1]);
    expect(page.html).toContain(`<title>Session ${id} · `);
    expect(page.fact("Automatic title")).toBe("Where is it?");
    await env.HOME_APAC.prepare("UPDATE sessions SET agent_title = 'Lost parcel' WHERE site_id = ?")
      .bind(world.siteId)
      .run();
    const apart = await visitor.open(`${path}/${id}`);
    expect([apart.heading, apart.fact("Title for the visitor"), apart.fact("Title for agents")]).toEqual([
      "Lost parcel",
      "Parcel not received",
      undefined,
    ]);
  });

  it("the page of a session links to its customer, its app and the call that opened it", async () => {
    const { world, visitor, site, path } = await start();
    const { envelope, headers } = await world.create({ sbs: "mei", sbs_mc: "Mei Tanaka" });
    const id = (envelope.data as { chat_id: number }).chat_id;
    const requestId = headers.get("x-request-id") ?? "";
    const page = await visitor.open(`${path}/${id}`);
    expect(page.link("Mei Tanaka")).toBe(`${site}/customers?chat_id=${id}`);
    expect(page.fact("Customer")).toBe("Mei Tanaka mei · 127.0.0.1");
    expect(page.link("App")).toBe(`${site}/apps/${world.appid}`);
    expect(page.link(requestId)).toBe(`${site}/requests/${requestId}`);
    expect(page.html).toContain(`data-copy="request-id"`);
    // A session from before request ids were stored.
    const old = await visitor.open(`${path}/${await seedSession(world)}`);
    expect(old.fact("By the call")).toBeUndefined();
  });

  it("the page of a session names the responsible agent first, and folds more than five others", async () => {
    const { world, visitor, site, path } = await start();
    const many = Array.from({ length: 80 }, (_, i) => 100 + i);
    await seedAgents(world, many);
    const few = await world.chatId({ kefu_id: [1, 2, 3], fzr_uid: 3 });
    const small = await visitor.open(`${path}/${few}`);
    expect(small.fact("Agents")).toBe("Agent 3 (3) Responsible Agent 1 (1) Agent 2 (2)");
    expect(small.link("Agent 3 (3)")).toBe(`${site}/agents/3`);
    const crowd = await world.chatId({ kefu_id: [...many, 1], fzr_uid: 1 });
    const large = await visitor.open(`${path}/${crowd}`);
    expect(large.fact("Agents")).toMatch(
      /^Agent 1 \(1\) Responsible 80 more agents Agent 100 \(100\) .* Agent 179 \(179\)$/,
    );
    expect(large.html).toMatch(/<details class="people"><summary>80 more agents<\/summary>/);
    // An agent that the site no longer has gets no link.
    await env.HOME_APAC.prepare("DELETE FROM agents WHERE site_id = ? AND id = 3").bind(world.siteId).run();
    expect((await visitor.open(`${path}/${few}`)).fact("Agents")).toBe("3 Responsible Agent 1 (1) Agent 2 (2)");
  });

  it("the page of a session shows the caller's metadata, escaped, and no heading without metadata", async () => {
    const { world, visitor, path } = await start();
    const id = await seedSession(world, { metadata: JSON.stringify({ "shop.plan": "<b>gold</b>", order: "A-17" }) });
    const page = await visitor.page(`${path}/${id}`);
    expect(page).toContain("<dt>Metadata</dt>");
    expect(page).toContain("<code>shop.plan</code> <bdi>&lt;b&gt;gold&lt;/b&gt;</bdi>");
    expect(page).toContain("<code>order</code> <bdi>A-17</bdi>");
    const none = await seedSession(world);
    expect(await visitor.page(`${path}/${none}`)).not.toContain("Metadata");
  });

  it("the page of a session shows each field of the API, and a field without words of its own under its name", async () => {
    const { world, visitor, path } = await start();
    const id = await seedSession(world, { metadata: '{"order":"A-17"}' });
    const titles = "visitor_title = 'For the visitor', agent_title = 'For agents', auto_title = 'Summed up'";
    await env.HOME_APAC.prepare(`UPDATE sessions SET ${titles} WHERE id = ?`).bind(id).run();
    const shownTexts: Record<string, string> = {
      chat_id: String(id),
      kind: "Ticket",
      status: "Waiting",
      responsible_agent_id: "Agent 1",
      visitor_title: "For the visitor",
      agent_title: "For agents",
      auto_title: "Summed up",
      metadata: "A-17",
      created_at: "<dt>Opened</dt>",
    };
    const page = await visitor.page(`${path}/${id}`);
    const names = SESSION_FIELDS.map(([, name]) => name);
    expect(names.filter((name) => !page.includes(shownTexts[name] ?? `<dt><code>${name}</code></dt>`))).toEqual([]);
  });

  it("the page of a session shows an unknown status by its own name, without a colour", async () => {
    const { world, visitor, path } = await start();
    const id = await seedSession(world);
    await env.HOME_APAC.prepare("UPDATE sessions SET status = 'on_hold' WHERE id = ?").bind(id).run();
    expect(await visitor.page(`${path}/${id}`)).toContain('<span class="badge off">On_hold</span>');
  });
});

describe("the timeline of a session", () => {
  it("the timeline of a session has the call, agents who joined later, and each event with its deliveries", async () => {
    const { world, visitor, site, path } = await start();
    const well = await newWebhook(world, { url: "https://well.example.com/in", created_at: NOW - 2 });
    const ill = await newWebhook(world, { url: "https://ill.example.com/in", created_at: NOW - 1 });
    await world.chatId();
    const id = await world.chatId({ kefu_id: [1], fzr_uid: 1 });
    world.clock.now = NOW + 300;
    expect((await world.add(id, { kefu_ids: "2,3" })).status).toBe(200);
    await world.chatId();
    const set = (webhook: { id: string }, seq: number, change: string) =>
      env.HOME_APAC.prepare(`UPDATE deliveries SET ${change} WHERE site_id = ? AND webhook_id = ? AND seq = ?`)
        .bind(world.siteId, webhook.id, seq)
        .run();
    await set(well, 2, "status = 'delivered', attempts = 1, last_status = 200");
    await set(ill, 2, "status = 'failed', attempts = 8, last_status = 500, last_error = 'HTTP 500: <b>no</b>'");
    await set(well, 3, "status = 'skipped', attempts = 1, last_status = 410, last_error = 'HTTP 410'");

    const page = await visitor.open(`${path}/${id}`);
    expect(timelineOf(page.html)).toEqual([
      "Opened by the app App Event 2 session.created well.example.com Delivered attempts: 1 ill.example.com Failed attempts: 8 The receiver answered 500",
      "Agents joined: 2, added by Agent 1 (1) Agent 2 (2) Agent 3 (3) Event 3 session.agents_added well.example.com Skipped attempts: 1 The receiver answered 410 ill.example.com Pending",
    ]);
    expect(page.link("ill.example.com")).toBe(`${site}/webhooks/${ill.id}?event=2`);
    expect((await visitor.open(page.link("ill.example.com"))).heading).toBe("session.created, event 2");
  });

  it("the timeline of a session tells webhooks of one host apart by path, and for a viewer by number", async () => {
    const { world, visitor, path } = await start();
    await newWebhook(world, { url: "https://shop.example.com/old", created_at: NOW - 2 });
    await newWebhook(world, { url: "https://shop.example.com/new?token=1", created_at: NOW - 1 });
    const id = await world.chatId();
    const shown = async (reader: ConsoleVisitor) => timelineOf((await reader.open(`${path}/${id}`)).html)[0];
    expect(await shown(visitor)).toMatch(/shop\.example\.com\/old Pending shop\.example\.com\/new Pending$/);
    const viewer = await visitorWithRole(world, "viewer");
    expect(await shown(viewer)).toMatch(/shop\.example\.com \(1\) Pending shop\.example\.com \(2\) Pending$/);
  });

  it("the page of a session asks again while an event was not yet sent to a webhook, and not while a failed one waits", async () => {
    const { world, visitor, path } = await start();
    await newWebhook(world);
    const id = await world.chatId();
    const asksAgain = async () => (await visitor.page(`${path}/${id}`)).includes("data-refresh");
    expect(await asksAgain()).toBe(true);
    const failed = "UPDATE deliveries SET attempts = 1, last_status = 500 WHERE site_id = ?";
    await env.HOME_APAC.prepare(failed).bind(world.siteId).run();
    expect(await asksAgain()).toBe(false);
  });

  it("the timeline of a session has no events of other sessions, also in a long log", async () => {
    const { world, visitor, path } = await start();
    await newWebhook(world);
    const ids: number[] = [];
    for (let i = 0; i < 12; i++) {
      world.clock.now = NOW + i * 7;
      ids.push(await world.chatId());
    }
    const timelines = await Promise.all(ids.map(async (id) => timelineOf((await visitor.open(`${path}/${id}`)).html)));
    expect(timelines.map(([first = "", ...more]) => [/Event (\d+)/.exec(first)?.[1], more])).toEqual(
      ids.map((_, i) => [String(i + 1), []]),
    );
  });
});

describe("the timeline of a session without events", () => {
  it("the timeline of a session without events has the call and the agents who joined", async () => {
    const { world, visitor, path } = await start();
    const before = await world.chatId({ kefu_id: [1], fzr_uid: 1 });
    const webhook = await newWebhook(world);
    const prunedId = await world.chatId();
    await world.chatId();
    await env.HOME_APAC.prepare("DELETE FROM deliveries WHERE site_id = ?").bind(world.siteId).run();
    await env.HOME_APAC.prepare("DELETE FROM events WHERE site_id = ? AND seq = 1").bind(world.siteId).run();
    for (const id of [before, prunedId]) {
      expect([id, timelineOf((await visitor.open(`${path}/${id}`)).html)]).toEqual([id, ["Opened by the app App"]]);
    }
    const untoldPage = await visitor.open(`${path}/${prunedId + 1}`);
    expect(timelineOf(untoldPage.html)[0]).toContain("Event 2 session.created No webhook gets it");
    expect(untoldPage.html).not.toContain(webhook.id);
  });

  it("the timeline of a session has at most 50 events, and says so", async () => {
    const { world, visitor, path } = await start();
    await newWebhook(world);
    const id = await world.chatId();
    await env.HOME_APAC.prepare(
      `WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
       INSERT INTO events (site_id, seq, id, type, session_id, created_at) SELECT ?1, i, 'evt_' || ?1 || '_' || i, 'session.noted', ?2, ?3 FROM n`,
    )
      .bind(world.siteId, id, NOW)
      .run();
    const page = await visitor.open(`${path}/${id}`);
    expect([page.html.match(/session\.noted/g)?.length, page.text.includes("only its first ones are shown")]).toEqual([
      49,
      true,
    ]);
  });
});

describe("the timeline of a session with many agents", () => {
  it("the timeline of a session says when it does not show everything", async () => {
    const { world, visitor, path } = await start();
    const id = await world.chatId();
    const join = (count: number) =>
      env.HOME_APAC.prepare(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?4)
         INSERT OR IGNORE INTO participants SELECT ?1, ?2, 1000 + i, 1, ?3 + i FROM n`,
      )
        .bind(world.siteId, id, NOW, count)
        .run();
    const isCut = async () => (await visitor.open(`${path}/${id}`)).text.includes("only its first ones are shown");
    await join(49);
    expect(await isCut()).toBe(false);
    await join(50);
    expect(await isCut()).toBe(true);
  });
});

describe("an unknown session", () => {
  it("an unknown session is 404 on a page with the site's tabs and a link to all sessions", async () => {
    const { world, visitor, site, path } = await start();
    const id = await world.chatId({ title: "Late" });
    const other = await World.create({}, "apac");
    const otherId = await other.chatId();
    for (let i = 0; i < 3; i++) await other.chatId();
    for (const missing of [String(otherId + 3), "0", "x", "9".repeat(20)]) {
      const page = await visitor.open(`${path}/${missing}`);
      expect([page.status, page.heading]).toEqual([404, `This site has no session ${missing}`]);
      expect([page.link("Webhooks"), page.link("All sessions")]).toEqual([`${site}/webhooks`, path]);
      const foundPage = await visitor.press(page, "Find", { "Session (chat_id)": String(id) });
      expect(foundPage.heading).toBe("Late");
    }
  });
});
