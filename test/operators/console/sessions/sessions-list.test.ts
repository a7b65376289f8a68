import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { LOOKED_THROUGH } from "../../../../src/operators/services/sessions.ts";
import { ConsoleVisitor } from "../../../support/console-visitor.ts";
import { NOW, World } from "../../../support/world.ts";
import { manySessions } from "../customers/customers-world.ts";
import { chipsOf, hrefWithout, idsIn, start } from "./sessions-world.ts";

const SBS = "Customer id (sbs)";
const DAY = 86_400;

describe("sessions", () => {
  it("the list of sessions has the newest first, filtered by status, by customer or both, in pages", async () => {
    const { world, visitor, path } = await start();
    for (const sbs of ["c0", "c1"]) await world.chatId({ sbs, sender_type: sbs === "c0" ? 1 : 2 });
    await env.HOME_APAC.prepare(
      `WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 22)
       INSERT INTO sessions (id, site_id, appid, kind, customer_external_id, responsible_agent_id, status, auto_title, created_at)
       SELECT i + 1, ?, ?, 'ticket', 'c' || (i % 2), 1, iif(i % 4 = 0, 'waiting', 'replied'), '', ${NOW} FROM n`,
    )
      .bind(world.siteId, world.appid)
      .run();
    const ids = Array.from({ length: 23 }, (_, i) => 23 - i);
    const page = await visitor.open(path);
    expect(idsIn(page)).toEqual(ids.slice(0, 20));
    expect(idsIn(await visitor.open(page.link("Next page")))).toEqual(ids.slice(20));
    const of = (keep: (id: number) => boolean) => ids.filter((_, i) => keep(22 - i));
    const find = async (fill: Record<string, string>) => idsIn(await visitor.press(page, "Find", fill));
    expect(await find({})).toEqual(ids.slice(0, 20));
    expect(await find({ Status: "waiting" })).toEqual(of((i) => i % 4 === 0));
    expect(await find({ [SBS]: "c1" })).toEqual(of((i) => i % 2 === 1));
    expect(await find({ [SBS]: "c0", Status: "replied" })).toEqual(of((i) => i % 4 === 2));
    expect(await find({ [SBS]: "nobody" })).toEqual([]);
    const foundPage = await visitor.press(page, "Find", { [SBS]: "c0", Status: "replied" });
    expect([foundPage.value("Status"), foundPage.value(SBS)]).toEqual(["replied", "c0"]);
    // An unknown status is ignored, and the rest of the filter applies.
    expect(idsIn(await visitor.open(`${path}?status=asleep&sbs=c1`))).toEqual(of((i) => i % 2 === 1));
  });

  it("a session without a visible title or customer still has links", async () => {
    const { world, visitor, site, path } = await start();
    const id = await world.chatId({ sbs: "\u200b", sbs_mc: "\u2800", content: "\u200b\u2800" });
    for (const at of [site, path]) {
      const list = await visitor.open(at);
      expect(list.link(`(${id})`)).toBe(`${path}/${id}`);
      expect(list.link("[U+200B]")).toBe(`${site}/customers?chat_id=${id}`);
    }
    const page = await visitor.open(`${path}/${id}`);
    expect([page.heading, page.link("[U+200B]")]).toEqual([`Session ${id}`, `${site}/customers?chat_id=${id}`]);
  });

  it("the list of sessions keeps its filter on further pages, and each page has a link back", async () => {
    const { world, visitor, path } = await start();
    await manySessions(world, "many", 45);
    await world.chatId({ sbs: "other" });
    const one = await visitor.press(await visitor.open(path), "Find", { [SBS]: "many" });
    const two = await visitor.open(one.link("Next page"));
    const three = await visitor.open(two.link("Next page"));
    expect([one, two, three].map((page) => idsIn(page).length)).toEqual([20, 20, 5]);
    expect(() => three.link("Next page")).toThrow();
    const back = await visitor.open(three.link("Previous page"));
    expect(idsIn(back)).toEqual(idsIn(two));
    expect(idsIn(await visitor.open(back.link("Next page")))).toEqual(idsIn(three));
    const first = await visitor.open(back.link("Previous page"));
    expect(idsIn(first)).toEqual(idsIn(one));
    expect(() => first.link("Previous page")).toThrow();
    expect(idsIn(await visitor.open(three.link("First page")))).toEqual(idsIn(one));
  });

  it("the list of sessions has none of another site's customer with the same id", async () => {
    const { world, visitor } = await start();
    const other = await World.create({}, "apac");
    await world.chatId({ sbs: "same" });
    const ownId = await other.chatId({ sbs: "same" });
    expect(idsIn(await visitor.open(`/console/sites/${other.siteId}/sessions?sbs=same`))).toEqual([ownId]);
  });

  it("the list of sessions shows the app, and links to the customer and, in a row's menu, to the call that opened it", async () => {
    const { world, visitor, site, path } = await start();
    const { envelope, headers } = await world.create({ sbs: "mei", sbs_mc: "Mei Tanaka", title: "Late" });
    const requestId = headers.get("x-request-id") ?? "";
    const id = (envelope.data as { chat_id: number }).chat_id;
    const page = await visitor.open(path);
    expect(page.rows).toEqual([
      [`Late ${id}`, "Mei Tanaka mei", "App", "Replied", "now", `Actions for Late Request id …${requestId.slice(-8)}`],
    ]);
    expect(page.link(`Request id …${requestId.slice(-8)}`)).toBe(`${site}/requests/${requestId}`);
    expect((await visitor.open(`${site}/requests/${requestId}`)).heading).toBe("An accepted call");
    expect(page.link("Mei Tanaka")).toBe(`${site}/customers?chat_id=${id}`);
    // An app whose row is lost is named by its appid.
    await env.HOME_APAC.prepare("DELETE FROM apps WHERE appid = ?").bind(world.appid).run();
    expect((await visitor.open(path)).rows[0]?.[2]).toContain(world.appid);
  });
});

describe("the filters of sessions", () => {
  it("the filters of sessions are app, agent, days, status and customer; they combine and can be removed one by one", async () => {
    const { world, path } = await start();
    const answer = await world.admin("POST", `/admin/sites/${world.siteId}/apps`, { name: "Second" });
    const second = world.anotherIsolate();
    Object.assign(second, await answer.json());
    const fields = { kefu_id: [1, 2], fzr_uid: 1, sbs: "mei", sender_type: 1 };
    const all = {
      fits: await second.chatId(fields),
      app: await world.chatId(fields),
      agent: await second.chatId({ ...fields, kefu_id: [3], fzr_uid: 3 }),
      status: await second.chatId({ ...fields, sender_type: 2 }),
      customer: await second.chatId({ ...fields, sbs: "other" }),
    };
    second.clock.now = NOW + DAY;
    const late = await second.chatId(fields);
    world.clock.now = NOW + DAY;
    const fresh = await ConsoleVisitor.signedIn(world);
    const filters = { Status: "waiting", App: second.appid, Agent: "2", "Opened until": "2027-01-15", [SBS]: "mei" };
    const page = await fresh.press(await fresh.open(path), "Find", filters);
    expect(idsIn(page)).toEqual([all.fits]);
    expect(chipsOf(page)).toEqual([
      "Customer id (sbs): mei",
      "App: Second",
      "Agent: Agent 2 (2)",
      "Status: Waiting",
      "Opened until: 15 Jan 2027",
    ]);
    for (const [label, more] of [
      ["Status", all.status],
      ["Customer id (sbs)", all.customer],
      ["App", all.app],
      ["Agent", all.agent],
      ["Opened until", late],
    ] as const) {
      const wider = await fresh.open(hrefWithout(page, label));
      expect([label, idsIn(wider).toSorted((a, b) => a - b)]).toEqual([
        label,
        [all.fits, more].toSorted((a, b) => a - b),
      ]);
      expect(chipsOf(wider)).toHaveLength(4);
    }
    expect(page.link("Clear")).toBe(path);
  });

  it("the agent filter finds sessions of a responsible agent, of one in the call, and of one added later", async () => {
    const { world, visitor, path } = await start();
    const responsible = await world.chatId({ kefu_id: [3], fzr_uid: 3 });
    const inCall = await world.chatId({ kefu_id: [1, 3], fzr_uid: 1 });
    const later = await world.chatId({ kefu_id: [1], fzr_uid: 1 });
    await world.chatId({ kefu_id: [1, 2], fzr_uid: 1 });
    expect((await world.add(later, { kefu_ids: "3" })).status).toBe(200);
    expect(idsIn(await visitor.open(`${path}?agent=3`))).toEqual([later, inCall, responsible]);
  });

  it("the day filter of sessions takes days of the reader's time zone", async () => {
    const { world, visitor, path } = await start();
    visitor.cookies.set("__Host-zone", "Asia/Shanghai");
    const midnight = Date.UTC(2027, 0, 14, 16) / 1000;
    const ids: number[] = [];
    for (const at of [midnight - 1, midnight, midnight + DAY - 1, midnight + DAY]) {
      world.clock.now = at;
      ids.push(await world.chatId());
    }
    const list = async (query: string) => idsIn(await visitor.open(`${path}?${query}`));
    expect(await list("from=2027-01-15&to=2027-01-15")).toEqual([ids[2], ids[1]]);
    expect(await list("from=2027-01-15")).toEqual([ids[3], ids[2], ids[1]]);
    expect(await list("to=2027-01-15")).toEqual([ids[2], ids[1], ids[0]]);
    expect(await list("from=2027-01-16&to=2027-01-14")).toEqual([]);
    expect(chipsOf(await visitor.open(`${path}?from=2027-01-15&to=2027-01-15`))).toEqual([
      "Opened from: 15 Jan 2027",
      "Opened until: 15 Jan 2027",
    ]);
    // A day that does not exist, or no day at all, is ignored.
    for (const day of ["2027-02-30", "yesterday", "15.01.2027"]) {
      const page = await visitor.open(`${path}?from=${day}`);
      expect([day, idsIn(page).length, chipsOf(page)]).toEqual([day, 4, []]);
    }
  });

  it("the list of sessions has links for today and for 7 days, which keep the other filters", async () => {
    const { world, visitor, path } = await start();
    const ids: number[] = [];
    for (const days of [8, 6.5, 1, 0]) {
      world.clock.now = NOW - Math.round(days * DAY);
      ids.push(await world.chatId({ sbs: "mei" }));
    }
    await world.chatId({ sbs: "other" });
    const page = await visitor.open(`${path}?sbs=mei`);
    const today = await visitor.open(page.link("Today"));
    expect([idsIn(today), chipsOf(today)]).toEqual([[ids[3]], ["Customer id (sbs): mei", "Opened from: 15 Jan 2027"]]);
    const week = await visitor.open(today.link("7 days"));
    expect([idsIn(week), week.html.includes('aria-current="true">7 days')]).toEqual([[ids[3], ids[2]], true]);
    expect(idsIn(await visitor.open(week.link("Any time")))).toEqual(ids.toReversed());
  });

  it("the session filters by app and agent look at the newest 10,000 sessions, and go on with the next page", async () => {
    const { world, visitor, path } = await start();
    const oldest = await world.chatId({ kefu_id: [3], fzr_uid: 3 });
    await env.HOME_APAC.prepare(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?3)
       INSERT INTO sessions (id, site_id, appid, kind, customer_external_id, responsible_agent_id, status, auto_title, created_at)
       SELECT ?1 + i, ?2, 'another', 'ticket', 'customer_001', 1, 'waiting', '', ?4 FROM n`,
    )
      .bind(oldest, world.siteId, LOOKED_THROUGH, NOW)
      .run();
    for (const query of [`app=${world.appid}`, "agent=3"]) {
      const first = await visitor.open(`${path}?${query}`);
      expect([idsIn(first), first.text]).toEqual([
        [],
        expect.stringContaining(`10,000 sessions were looked through, back to session ${oldest + 1}.`),
      ]);
      const second = await visitor.open(first.link("Next page"));
      expect([idsIn(second), chipsOf(second).length]).toEqual([[oldest], 1]);
      expect(second.text).not.toContain("looked through");
    }
    // A full page needs no further search.
    const full = await visitor.open(`${path}?app=another`);
    expect([idsIn(full).length, full.text.includes("looked through")]).toEqual([20, false]);
  });
});

describe("a further page of sessions", () => {
  it("a further page of sessions that is empty says that there are no more, and does not blame the filter", async () => {
    const { world, visitor, path } = await start();
    const id = await world.chatId({ sbs: "mei" });
    for (const query of [`cursor=${id}`, `cursor=${id}&sbs=mei`, `cursor=${id}&agent=2`]) {
      const page = await visitor.open(`${path}?${query}`);
      expect([idsIn(page), page.text.includes("No further session"), page.text.includes("No session fits")]).toEqual([
        [],
        true,
        false,
      ]);
    }
  });
});

describe("the filter by agent", () => {
  it("the agent filter of sessions accepts an id of 16 digits", async () => {
    const { world, visitor, path } = await start();
    await world.chatId();
    const page = await visitor.open(`${path}?agent=1000000000000001`);
    expect([idsIn(page), chipsOf(page)]).toEqual([[], ["Agent: 1000000000000001"]]);
  });
});

describe("a chat_id in the filter", () => {
  it("a chat_id in the filter of sessions leads to the session, on its own site only", async () => {
    const { world, visitor, path } = await start();
    const id = await world.chatId({ title: "Late" });
    const fill = { "Session (chat_id)": ` ${id} ` };
    const foundPage = await visitor.press(await visitor.open(path), "Find", fill);
    expect([foundPage.path, foundPage.heading]).toEqual([`${path}/${id}`, "Late"]);
    const other = await World.create({}, "apac");
    const otherPath = `/console/sites/${other.siteId}/sessions`;
    await other.chatId();
    await other.admin("PATCH", `/admin/sites/${other.siteId}`, { first_chat_id: id + 10 });
    const refusal = await visitor.press(await visitor.open(otherPath), "Find", { "Session (chat_id)": String(id + 5) });
    expect([refusal.text.includes(`This site has no session ${id + 5}`), chipsOf(refusal)]).toEqual([true, []]);
    expect(refusal.value("Session (chat_id)")).toBe(String(id + 5));
  });
});

describe("an empty list of sessions", () => {
  it("an empty list of sessions says that the customer has none, and what to check", async () => {
    const { world, visitor, site, path } = await start();
    await world.chatId({ sbs: "mei" });
    const page = await visitor.open(`${path}?sbs=Mei`);
    expect(page.text).toContain("This site has no session of this customer The customer id must be the same");
    expect(page.link("Latest customers")).toBe(`${site}/customers`);
    expect(page.link("All sessions")).toBe(path);
  });

  it("an empty list of sessions says whether the filters exclude all, and whether the customer has others", async () => {
    const { world, visitor, path } = await start();
    await world.chatId({ sbs: "mei", sender_type: 1 });
    const none = "No session fits all of these filters";
    const ofCustomer = await visitor.open(`${path}?sbs=mei&status=replied`);
    expect(ofCustomer.text).toContain(`${none} This customer has sessions, but none that fits the other filters`);
    const ofSite = await visitor.open(`${path}?status=replied`);
    expect(ofSite.text).toContain(`${none} Take one of them off above.`);
  });

  it("the empty list of a new site shows a first call, which is accepted as it is shown", async () => {
    const { world, visitor, site, path } = await start();
    const page = await visitor.open(path);
    expect(page.text).toContain("No session yet");
    expect([page.has("Find"), page.link("All agents")]).toEqual([false, `${site}/agents`]);
    const [, command = ""] = /<pre id="first-call">(.*?)<\/pre>/.exec(page.html) ?? [];
    const [, appid, body = ""] =
      /^npm run call -- create_gd --url https:\/\/worker --appid (\S+) --secret SECRET &#39;(.*)&#39;$/.exec(command) ??
      [];
    expect(appid).toBe(world.appid);
    expect((await world.create(JSON.parse(body.replaceAll("&quot;", '"')))).status).toBe(200);
    expect((await visitor.open(path)).text).not.toContain("No session yet");
  });

  it("the empty list of a site without apps and agents links to both", async () => {
    const { world, visitor, site, path } = await start();
    await world.admin("POST", `/admin/apps/${world.appid}/revoke`);
    await world.admin("DELETE", `/admin/apps/${world.appid}`);
    await env.HOME_APAC.prepare("DELETE FROM agents WHERE site_id = ?").bind(world.siteId).run();
    const page = await visitor.open(path);
    expect([page.link("Issue an app"), page.link("Add an agent")]).toEqual([`${site}/apps`, `${site}/agents`]);
  });
});
