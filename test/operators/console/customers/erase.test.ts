import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { closedHomeVars } from "../../../support/closed-home-vars.ts";
import { databaseOf } from "../../../support/homes.ts";
import { newWebhook } from "../../../support/new-webhook.ts";
import { ADMIN_TOKEN, NOW } from "../../../support/world.ts";
import { askedToErase, auditRows, findCustomerPage, manySessions, SBS, start } from "./customers-world.ts";

const DAY = 86_400;
const SURE = { "Nobody can undo this": "on" };
const actionsOf = async (world: Parameters<typeof auditRows>[0]) => (await auditRows(world)).map(([action]) => action);
const iso = (at: number) => `datetime="${new Date(at * 1000).toISOString()}"`;

describe("erasing a customer", () => {
  it("the console asks before it erases a customer, and then shows what is gone, who had received it and what stays", async () => {
    const { world, visitor, path } = await start();
    const toldWebhook = await newWebhook(world, { url: "https://told.example.com/" });
    const webhook = await newWebhook(world, { url: "https://untold.example.com/", events: '["session.created"]' });
    const customer = { sbs: "mei", sbs_mc: "Mei Tanaka" };
    const chatIds = [await world.chatId(customer), await world.chatId(customer)];
    const other = await world.chatId({ sbs: "other" });
    await databaseOf(world.home)
      .prepare("UPDATE deliveries SET status = 'delivered' WHERE site_id = ? AND webhook_id = ? AND seq = 1")
      .bind(world.siteId, webhook.id)
      .run();
    const before = await world.stored();

    const askPage = await askedToErase(visitor, path, "mei");
    expect([askPage.status, askPage.heading]).toEqual([200, "Erase this customer's data?"]);
    expect(["Customer", "Customer id (sbs)", "Sessions", "chat_id"].map((term) => askPage.fact(term))).toEqual([
      "Mei Tanaka",
      "mei",
      "2",
      chatIds.join(" , "),
    ]);
    expect(askPage.text).toMatch(/Time Travel.*Idempotency-Keys.*Free pages.*receivers.*systems that opened/);
    expect([await world.stored(), await auditRows(world)]).toEqual([before, []]);

    const unticked = await visitor.press(askPage, "Erase now");
    expect([unticked.status, unticked.error("Nobody can undo this")]).toEqual([400, "Tick it: this cannot be undone."]);
    expect([await world.stored(), await auditRows(world)]).toEqual([before, []]);

    const donePage = await visitor.press(unticked, "Erase now", SURE);
    expect([donePage.status, donePage.heading]).toEqual([200, "A customer's data was erased"]);
    expect(donePage.notices).toEqual(["It is done", "Not told: 1 of 2 receivers"]);
    const terms = ["Sessions", "Messages", "Participants", "Contents of events", "Deliveries called off"];
    expect(terms.map((term) => donePage.fact(term))).toEqual(["2", "2", "2", "2", "3"]);
    expect(donePage.rows).toEqual(
      expect.arrayContaining([
        ["https://told.example.com/", "0", "0", "Yes"],
        ["https://untold.example.com/", "1", "0", "No"],
      ]),
    );
    expect(donePage.link("https://untold.example.com/")).toBe(`/console/sites/${world.siteId}/webhooks/${webhook.id}`);
    expect(donePage.link("https://told.example.com/")).toContain(toldWebhook.id);
    expect(donePage.html).toContain(iso(NOW + 30 * DAY));
    expect(donePage.html).toContain(iso(NOW + DAY));
    expect(donePage.text).not.toContain("Receipts");

    const after = await world.stored();
    expect(after.sessions.map(({ id }) => id)).toEqual([other]);
    expect(after.customers.map(({ external_id }) => external_id)).toEqual(["other"]);
    const [begunRow, erasedRow] = await auditRows(world);
    expect([begunRow?.[0], erasedRow?.[0]]).toEqual(["customer.erasure_begun", "customer.erased"]);
    expect(donePage.path).toBe(`${path}/erasures/${begunRow?.[1]}`);
    expect(donePage.text).toContain(`Id of the erasure ${begunRow?.[1]}`);
  });
});

describe("an erasure of several steps", () => {
  it("an erasure of many sessions shows how many are left, and its button continues until none is left", async () => {
    const { world, visitor, path } = await start();
    await manySessions(world, "many", 370);
    const askPage = await askedToErase(visitor, path, "many");
    expect([askPage.fact("Sessions"), askPage.fact("chat_id")]).toEqual(["370", "1 , 2 , 3 … 370"]);
    const page = await visitor.press(askPage, "Erase now", SURE);
    expect([page.heading, page.notices]).toEqual(["Erasing a customer's data", ["It is not done: sessions left: 120"]]);
    expect([page.fact("Sessions"), page.fact("Sessions left"), page.fact("Customer id (sbs)")]).toEqual([
      "250",
      "120",
      "many",
    ]);
    expect((await world.stored()).sessions).toHaveLength(120);
    const donePage = await visitor.press(page, "Go on erasing");
    expect([donePage.path, donePage.notices, donePage.fact("Sessions")]).toEqual([page.path, ["It is done"], "370"]);
    // An erasure may go on elsewhere, so its page asks again until it is done.
    const asksAgain = ({ html }: typeof page) => html.includes("data-refresh");
    expect([asksAgain(page), page.link("Look again"), asksAgain(donePage)]).toEqual([true, page.path, false]);
    expect(donePage.text).not.toContain("many");
    expect((await world.stored()).customers).toEqual([]);
    expect(await actionsOf(world)).toEqual(["customer.erasure_begun", "customer.erased"]);

    // The form of the old page is sent again.
    const pageAgain = await visitor.press(page, "Go on erasing");
    expect([pageAgain.path, pageAgain.notices, pageAgain.fact("Sessions")]).toEqual([page.path, ["It is done"], "370"]);
    expect(await actionsOf(world)).toEqual(["customer.erasure_begun", "customer.erased"]);
  });

  it("an unfinished erasure continues from the customer's page too", async () => {
    const { world, visitor, path } = await start();
    await manySessions(world, "many", 251);
    const begin = async () => {
      const askPage = await askedToErase(visitor, path, "many");
      return visitor.press(askPage, "Erase now", SURE);
    };
    const first = await begin();
    expect(first.notices).toEqual(["It is not done: sessions left: 1"]);
    const second = await begin();
    expect([second.path, second.notices]).toEqual([first.path, ["It is done"]]);
  });
});

describe("a form that erases", () => {
  it("an erasing form that is sent twice, together or later, leads to the same result", async () => {
    const { world, visitor, path } = await start();
    await world.chatId({ sbs: "mei" });
    const askPage = await askedToErase(visitor, path, "mei");
    const [one, two] = await Promise.all([
      visitor.press(askPage, "Erase now", SURE),
      visitor.press(askPage, "Erase now", SURE),
    ]);
    expect([one.notices, two.notices, one.path]).toEqual([["It is done"], ["It is done"], two.path]);
    await world.chatId({ sbs: "mei" });
    const later = await visitor.press(askPage, "Erase now", SURE);
    expect(later.path).toBe(one.path);
    // The form was about the sessions at that time. A later session needs another confirmation.
    expect((await world.stored()).sessions).toHaveLength(1);
    const askPageAgain = await askedToErase(visitor, path, "mei");
    const second = await visitor.press(askPageAgain, "Erase now", SURE);
    expect([second.notices, second.path === one.path]).toEqual([["It is done"], false]);
    expect((await world.stored()).sessions).toEqual([]);
  });

  it("an erasing form in another tab leads to the erasure that was done", async () => {
    const { world, visitor, path } = await start();
    await world.chatId({ sbs: "mei" });
    const ask = async () => askedToErase(visitor, path, "mei");
    const tabs = [await ask(), await ask()] as const;
    const first = await visitor.press(tabs[0], "Erase now", SURE);
    const second = await visitor.press(tabs[1], "Erase now", SURE);
    expect([second.status, second.path]).toEqual([200, first.path]);
    expect(await actionsOf(world)).toEqual(["customer.erasure_begun", "customer.erased"]);
  });

  it("the console says at the field that a customer is unknown, and finds the erasure of an erased customer", async () => {
    const { world, visitor, path } = await start();
    const unknown = await findCustomerPage(visitor, path, "mei");
    expect([unknown.status, unknown.link(SBS), unknown.value(SBS)]).toEqual([404, "#sbs", "mei"]);
    const never = await visitor.press(unknown, "Look for an erasure");
    expect([never.status, never.value(SBS)]).toEqual([404, "mei"]);
    await world.chatId({ sbs: "mei" });
    const page = await findCustomerPage(visitor, path, "mei");
    const askPage = await visitor.press(page, "Erase this customer…");
    const donePage = await visitor.press(askPage, "Erase now", SURE);
    const result = await visitor.press(await findCustomerPage(visitor, path, "mei"), "Look for an erasure");
    expect([result.status, result.path, result.heading]).toEqual([200, donePage.path, "A customer's data was erased"]);
    // The customer's page that was opened before the erasure.
    expect((await visitor.press(page, "Erase this customer…")).path).toBe(donePage.path);
    expect(await actionsOf(world)).toEqual(["customer.erasure_begun", "customer.erased"]);
    const exported = await visitor.press(page, "Export as a file");
    expect([exported.status, exported.error(SBS)]).toEqual([
      404,
      "No name begins with it, and no customer has exactly this id. Of an erased customer nothing is left here.",
    ]);
    const forgedFields = { form: page.value("form"), customer: '"never"', asked: "yes", sure: "on" };
    expect((await visitor.post(`${path}/erase`, forgedFields)).status).toBe(404);
    expect((await visitor.post(`${path}/erase`, { ...forgedFields, customer: "{" })).status).toBe(400);
  });

  it("an erasing form asks again after a change of language or a new sign-in, and erases nothing meanwhile", async () => {
    const { world, visitor, path } = await start();
    await world.chatId({ sbs: "mei" });
    const askPage = await askedToErase(visitor, path, "mei");
    const chinese = await visitor.press(askPage, "中文");
    expect([chinese.status, chinese.heading]).toEqual([200, "抹除此客户的数据？"]);
    visitor.cookies.clear();
    const signInPage = await visitor.press(askPage, "Erase now", SURE);
    expect(signInPage.heading).toBe("Sign in to the console");
    const back = await visitor.press(signInPage, "Sign in", { Token: ADMIN_TOKEN });
    expect([back.heading, back.notices]).toEqual([
      "Erase this customer's data?",
      ["Not sent yet: look the form over and send it."],
    ]);
    expect(await auditRows(world)).toEqual([]);
    expect((await visitor.press(back, "Erase now", SURE)).notices).toEqual(["It is done"]);
  });
});

describe("an erasure that cannot be done now", () => {
  it("an erasure in the console is 503 while a home is closed, asks for nothing first, and deletes nothing", async () => {
    const { world, visitor, path } = await start();
    await world.chatId({ sbs: "mei" });
    const askPage = await askedToErase(visitor, path, "mei");
    const before = await world.stored();
    const other = visitor.through(world.anotherIsolate(closedHomeVars("apac")));
    for (const page of [await askedToErase(other, path, "mei"), await other.press(askPage, "Erase now", SURE)]) {
      expect([page.status, page.heading, page.headers.get("retry-after")]).toEqual([
        503,
        "A home is closed, so this cannot be done now",
        expect.any(String),
      ]);
    }
    expect([await world.stored(), await auditRows(world)]).toEqual([before, []]);
    const pageAgain = await askedToErase(visitor, path, "mei");
    expect((await visitor.press(pageAgain, "Erase now", SURE)).notices).toEqual(["It is done"]);
  });

  it("the page of an erasure is 404 for an unknown id or another site's erasure", async () => {
    const { world, visitor, path } = await start();
    await world.chatId({ sbs: "mei" });
    const askPage = await askedToErase(visitor, path, "mei");
    const { path: donePage } = await visitor.press(askPage, "Erase now", SURE);
    const { path: otherPath } = await start();
    const other = donePage.replace(path, otherPath);
    for (const address of [other, `${path}/erasures/none`, `${path}/erasures/%27`]) {
      expect([address, (await visitor.get(address)).status]).toEqual([address, 404]);
      const form = askPage.value("form");
      expect([address, (await visitor.post(address, { form })).status]).toEqual([address, 404]);
    }
  });
});

describe("a deployment without KV", () => {
  it("without KV the console shows the receipts of an erasure before anything is deleted", async () => {
    const { world, visitor, path } = await start("main", { CREDENTIALS: undefined });
    const chatId = await world.chatId({ sbs: "mei" });
    const askPage = await askedToErase(visitor, path, "mei");
    const begunPage = await visitor.press(askPage, "Erase now", SURE);
    expect(begunPage.notices).toEqual(["Nothing is erased yet: keep the receipts below first"]);
    expect((await world.stored()).sessions).toHaveLength(1);
    const [[, id] = []] = await auditRows(world);
    expect(JSON.parse(begunPage.code("receipts"))).toEqual([
      { erasure_id: id, site_id: world.siteId, hash: expect.any(String), highest_chat_id: chatId, chat_ids: [chatId] },
    ]);
    expect(begunPage.text).toContain("Receipts to keep for 31 days");
    const donePage = await visitor.press(begunPage, "I have kept them: erase now");
    expect([donePage.notices, donePage.text.includes("Receipts to keep for 31 days")]).toEqual([["It is done"], true]);
    expect((await world.stored()).sessions).toEqual([]);
    expect(
      (await env.DB.prepare("SELECT * FROM customers WHERE site_id = ?").bind(world.siteId).all()).results,
    ).toEqual([]);
  });
});
