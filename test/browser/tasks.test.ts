/* biome-ignore-all lint/performance/useDomNodeTextContent: the tests compare the text that a reader sees. */
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { AgentSessionClient } from "../../src/client/client.ts";
import { openBrowser, signedInPage } from "../support/open-browser.ts";
import { YESTERDAY } from "./big-world/audit.ts";
import { customerOf } from "./big-world/sessions.ts";
import { type BigWorld, startBigWorld } from "./big-world.ts";
import { SHOWN } from "./shown.ts";

let browser: Browser;
let world: BigWorld;

beforeAll(async () => {
  browser = await openBrowser();
});

afterAll(async () => browser?.close());

/** What operators come to the console for: issue 28. A task may take this many pages after the front page. */
const MOST_LOADS = 4;

describe.each([
  ["with script", true],
  ["without script", false],
])("an operator who begins at the front page, %s,", (_, javaScriptEnabled) => {
  let page: Page;
  let loads = 0;

  beforeAll(async () => {
    world = await startBigWorld();
    page = await signedInPage(browser, world.worker, { javaScriptEnabled, timezoneId: "UTC" });
    await page.clock.setFixedTime(SHOWN * 1000);
    page.setDefaultTimeout(15_000);
    page.on("domcontentloaded", () => loads++);
  });

  afterAll(async () => {
    await page?.context().close();
    await world?.close();
  });

  beforeEach(async () => {
    await page.goto("/console");
    loads = 0;
  });

  afterEach(() => {
    expect(loads).toBeLessThanOrEqual(MOST_LOADS);
  });

  const main = () => page.locator("main");
  const textOf = async () => (await main().innerText()).replaceAll(/\s+/g, " ");

  /** Does what leads to another page, and waits for it. */
  async function to(act: Promise<unknown>): Promise<void> {
    await Promise.all([page.waitForEvent("domcontentloaded"), act]);
  }

  const follow = (name: string | RegExp) => to(main().getByRole("link", { name }).first().click());
  const toTab = (name: string) =>
    to(page.getByRole("navigation", { name: "Site" }).getByRole("link", { name, exact: true }).click());
  const press = (name: string | RegExp) => to(main().getByRole("button", { name }).first().click());
  const search = async (text: string) => {
    await page.getByRole("searchbox").fill(text);
    await to(page.keyboard.press("Enter"));
  };
  const send = (app: { appid: string; secret: string }) =>
    new AgentSessionClient({ baseUrl: world.worker.url, ...app }).send("create_gd", {
      timestamp: SHOWN,
      sbs: "task",
      sbs_mc: "Task",
      ip: "127.0.0.1",
      content: "Hello",
      kefu_id: [10401],
      fzr_uid: 10401,
    });
  const statusOf = async (app: { appid: string; secret: string }) => (await send(app)).status;
  const pathsIn = async (selector: string) =>
    main()
      .locator(selector)
      .evaluateAll((links) => links.map((each) => new URL((each as { href?: string }).href ?? "").pathname));

  // These two come first: later tasks send calls, whose events wake the queue, and it begins to post.
  it("finds the webhook that hangs, and why", async () => {
    await toWebhook("hanging");
    expect(await textOf()).toMatch(/Failing for 1 day/);
    expect(await textOf()).toContain("No answer within 15 s");
  });

  it("sends again what a webhook missed in the last hour, after a count", async () => {
    /** The deliveries of that hour which have been tried often, and wait for hours. */
    const waiting = () =>
      world.db
        .prepare("SELECT count(*) AS n FROM deliveries WHERE webhook_id = ? AND created_at > ? AND attempts >= 3")
        .bind(world.webhooks.failing, SHOWN - 3_600)
        .first<number>("n");
    const before = await waiting();
    expect(before).toBeGreaterThan(5);
    await toWebhook("failing");
    await follow(/^Send again/);
    await main().getByLabel("The last hour").check();
    await press("Count");
    expect(await textOf()).toContain(`${before} events match`);
    await press(`Send ${before} events again`);
    expect(await waiting()).toBe(0);
  });

  it("finds a customer's sessions", async () => {
    await search(customerOf(57));
    const paths = await pathsIn("a[href*='/sessions/']");
    for (const id of [57, 177, 297]) expect(paths).toContain(`${world.sites.busy}/sessions/${id}`);
  });

  it("finds a session by a word of its title", async () => {
    await search("20418");
    await follow(/Refund for order 20418/);
    expect(await page.locator("h1").innerText()).toContain("Refund for order 20418");
  });

  it.each(["signature_mismatch", "timestamp_stale", "agents_invalid"])(
    "explains a call that was refused for %s from its request id",
    async (reason) => {
      const refused = world.refusals.find((each) => each.reason === reason);
      await search(refused?.requestId ?? "");
      expect(await textOf()).toContain(
        {
          signature_mismatch: "The signature did not fit the body.",
          timestamp_stale: "The timestamp was too old.",
          agents_invalid: "An agent was unknown, foreign or disabled.",
        }[reason],
      );
    },
  );

  it("finds refused calls by their time", async () => {
    const [refused] = world.refusals.filter(({ reason }) => reason === "fields_invalid").slice(-1);
    const minute = new Date((refused?.at ?? 0) * 1000).toISOString().slice(0, 16);
    await follow("Northwind Store");
    await toTab("Refused calls");
    await openFilter();
    await main().getByLabel("From").fill(minute);
    await main().getByLabel("To", { exact: true }).fill(minute);
    await find();
    const row = main().locator("tbody tr", { has: page.locator(`a[href*="${refused?.requestId}"]`) });
    expect(await row.innerText()).toContain("A field broke a rule.");
  });

  it("rotates a secret without an outage", async () => {
    const { till } = world.apps;
    await search("门店收银");
    await openFound("门店收银系统");
    await main().getByLabel("Overlap").selectOption("3600");
    await press("Rotate");
    const next = { ...till, secret: await page.locator("#secret").innerText() };
    expect([await statusOf(till), await statusOf(next)]).toEqual([200, 200]);
  });

  it("ends an overlap in the knowledge of who still uses the old secret", async () => {
    const { overlappingApp } = world.apps;
    await search("Warehouse");
    await openFound("Warehouse");
    expect(await textOf()).toMatch(/old one.{0,80}until|old secret.{0,80}until/i);
    expect(await textOf()).toContain("last used");
    await follow(/The old secret stops now/);
    await press(/^The old secret stops now|^Stop|^End/);
    expect(await statusOf({ ...overlappingApp, secret: overlappingApp.previousSecret })).toBe(401);
    expect(await statusOf(overlappingApp)).toBe(200);
  });

  it("revokes an app", async () => {
    const { mobileApp } = world.apps;
    expect(await statusOf(mobileApp)).toBe(200);
    await search("Mobile app");
    await openFound("Mobile app");
    await follow("Revoke this app…");
    await press("Revoke for good");
    expect(await statusOf(mobileApp)).toBe(401);
    expect(await textOf()).toContain("Revoked");
  });

  it("adds 50 pasted agents, of which three lines are wrong at first", async () => {
    await follow("Northwind Store");
    await toTab("Agents");
    const lines = Array.from({ length: 50 }, (_, i) => `${20_000 + i},"Agent, ${i}"`);
    const wrong = lines.map((line, i) =>
      i === 5 ? "ten, Ben" : i === 17 ? "20003, Twice" : i === 40 ? "20040" : line,
    );
    await main().locator("summary", { hasText: "Add agents" }).click();
    await main()
      .locator("textarea")
      .fill(["id,name", ...wrong].join("\n"));
    await press("Add all");
    const faults = await main().locator(".lines li").allInnerTexts();
    expect(faults.map((text) => /\d+/.exec(text)?.[0])).toEqual(["7", "19", "42"]);
    const field = main().locator("textarea:visible").first();
    const right = (await field.inputValue()).trim().split("\n").length === 3 ? [5, 17, 40].map((i) => lines[i]) : lines;
    await field.fill(right.join("\n"));
    await press("Add all");
    expect(await textOf()).toMatch(/50 agents were added|Agents added: 50/);
    const found = await world.db.prepare("SELECT count(*) AS n FROM agents WHERE id BETWEEN 20000 AND 20049").first();
    expect(found).toEqual({ n: 50 });
  });

  it("disables an agent", async () => {
    await follow("Northwind Store");
    await toTab("Agents");
    await openFilter();
    await main().locator("[name=q]").fill("10502");
    await find();
    await main().locator("details.menu summary").first().click();
    await press(/^Disable/);
    const agent = await world.db.prepare("SELECT status FROM agents WHERE id = 10502").first();
    expect(agent).toEqual({ status: "disabled" });
    expect(await main().locator("tbody tr", { hasText: "10502" }).innerText()).toContain("Disabled");
  });

  it("closes a site", async () => {
    await follow("西风商店");
    await toTab("Settings");
    await follow("Close this site…");
    await press("Close now");
    expect(await page.locator(".state").innerText()).toContain("Closed");
  });

  it("opens a site that is closed", async () => {
    await follow("西风商店");
    if ((await main().getByRole("button", { name: "Open this site" }).count()) === 0) await follow("To the settings");
    await press("Open this site");
    expect(await page.locator(".state").innerText()).toContain("Open");
  });

  it("sees what one person did yesterday", async () => {
    await to(page.getByRole("navigation", { name: "Console" }).getByRole("link", { name: "Audit log" }).click());
    await openFilter();
    const who = main().locator("[name=who]");
    await ((await who.evaluate((field) => (field as { localName?: string }).localName)) === "select"
      ? who.selectOption({ label: YESTERDAY })
      : who.fill(YESTERDAY));
    await main()
      .getByLabel("From")
      .fill(await timeFor("2026-11-21", "00:00"));
    await main()
      .getByLabel("To", { exact: true })
      .fill(await timeFor("2026-11-21", "23:59"));
    await find();
    const rows = await main().locator("tbody tr").allInnerTexts();
    expect(rows.length).toBeGreaterThan(3);
    for (const row of rows) expect(row).toContain("amara.okafor");
    const times = await main()
      .locator("tbody time")
      .evaluateAll((all) => all.map((each) => each.getAttribute("datetime")));
    for (const time of times) expect(time).toMatch(/^2026-11-21T/);
  });

  it("sees how many sessions there were on each day of two weeks", async () => {
    await follow("Northwind Store");
    await main()
      .locator("summary", { hasText: /each day/ })
      .first()
      .click();
    const table = main().getByRole("table", { name: /by day/ });
    expect(await table.locator("thead").innerText()).toMatch(/Sessions/i);
    expect(await table.locator("tbody tr").count()).toBe(14);
  });

  it("sees which app makes most errors", async () => {
    await follow("Northwind Store");
    await toTab("Refused calls");
    const [most] = await main().getByRole("navigation", { name: "By app" }).getByRole("link").allInnerTexts();
    expect(most).toMatch(/^Warehouse\s+[\d,]+$/);
  });

  it("erases a customer", async () => {
    await search(customerOf(30));
    if (
      (await main()
        .getByRole("button", { name: /^Erase/ })
        .count()) === 0
    )
      await follow("To the customer's page");
    await press(/^Erase/);
    await main().locator("input[type=checkbox]").check();
    await press("Erase now");
    expect(await textOf()).toContain("It is done");
    const left = await world.db.prepare("SELECT 1 FROM customers WHERE external_id = ?").bind(customerOf(30)).first();
    expect(left).toBeNull();
  });

  it("lets a colleague look, and do nothing else", async () => {
    await to(page.getByRole("navigation", { name: "Console" }).getByRole("link", { name: "Tokens" }).click());
    await main().locator("summary", { hasText: "Make a token" }).click();
    await main().getByLabel("Name").fill("A colleague");
    await main().getByLabel("Role").selectOption("viewer");
    await press("Make the token");
    const authorization = `Bearer ${await page.locator("#token").innerText()}`;
    const call = async (method: string) =>
      (await fetch(new URL("/admin/sites", world.worker.url), { method, headers: { authorization } })).status;
    expect([await call("GET"), await call("POST")]).toEqual([200, 403]);
  });

  it("sees that a home will be full next month", async () => {
    expect(await textOf()).toMatch(/apac.{0,60}full/i);
    await follow(/apac/);
    expect(await textOf()).toMatch(/Dec(ember)? 2026/);
  });

  /** On a phone the filter of a list is folded up; in a wide window it is open. */
  async function openFilter(): Promise<void> {
    const summary = main().locator(".filter summary:visible");
    if ((await summary.count()) > 0) await summary.first().click();
  }

  /** A field may ask for a day alone. */
  const timeFor = async (day: string, time: string) =>
    (await main().getByLabel("From").getAttribute("type")) === "date" ? day : `${day}T${time}`;

  const find = () => to(main().locator(".filter form > button").first().click());

  /** Follows the link to what a search has found; one thing alone is shown at once. */
  async function openFound(name: string): Promise<void> {
    if ((await page.locator("h1").innerText()) !== name) await follow(name);
  }

  /** What needs attention leads there. */
  async function toWebhook(which: "hanging" | "failing"): Promise<void> {
    const link = main().locator(`a[href*="${world.webhooks[which]}"]`);
    const more = main().locator("summary", { hasText: /^Show \d+ more/ });
    if (!(await link.first().isVisible())) await more.click();
    await to(link.first().click());
  }
});
