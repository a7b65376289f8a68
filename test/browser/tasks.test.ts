/* biome-ignore-all lint/performance/useDomNodeTextContent: the tests compare the text that a reader sees. */
import type { Page } from "playwright-core";
import { afterAll, describe, expect } from "vitest";
import { AgentSessionClient } from "../../src/client/client.ts";
import { newPage, signIn } from "../support/open-browser.ts";
import { YESTERDAY } from "./big-world/audit.ts";
import { customerOf } from "./big-world/sessions.ts";
import { type BigWorld, startBigWorld } from "./big-world.ts";
import { it } from "./it.ts";
import { SCRIPT_MODES } from "./script-modes.ts";
import { SHOWN } from "./shown-time.ts";

/** How many pages a task may load after the front page. */
const MOST_LOADS = 4;

/** These tests have their own world, because the tasks change it. */
let world: BigWorld;
const pages = new Map<string, Page>();
/** The page of the task that runs, and how many pages it has loaded. */
let page: Page;
let loads = 0;

it.beforeAll(async ({ browser }) => {
  world = await startBigWorld();
  for (const [mode, javaScriptEnabled] of SCRIPT_MODES) {
    const modePage = await newPage(browser, world.worker, { javaScriptEnabled, timezoneId: "UTC" });
    await signIn(modePage, world.worker.adminToken);
    await modePage.clock.setFixedTime(SHOWN * 1000);
    modePage.on("domcontentloaded", () => loads++);
    pages.set(mode, modePage);
  }
});

afterAll(async () => {
  for (const modePage of pages.values()) await modePage.context().close();
  await world?.close();
});

type App = { appid: string; secret: string };
/** Chooses a value by the mode, because some tasks cannot be done twice with the same thing. */
type Choose = <const One, const Other>(withScript: One, withoutScript: Other) => One | Other;

function task(name: string, act: (choose: Choose) => Promise<void>): void {
  it.for(SCRIPT_MODES)(`${name}, %s`, async ([mode, javaScriptEnabled]) => {
    page = pages.get(mode) as Page;
    await page.goto("/console");
    loads = 0;
    await act((withScript, withoutScript) => (javaScriptEnabled ? withScript : withoutScript));
    expect(loads).toBeLessThanOrEqual(MOST_LOADS);
  });
}

// The tasks run one after the other, because they share their pages.
describe.sequential("from the front page", () => {
  const main = () => page.locator("main");
  const textOf = async () => (await main().innerText()).replaceAll(/\s+/g, " ");

  /** Does something that leads to another page, and waits for that page. */
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
  const statusOf = async (app: App) => {
    const caller = new AgentSessionClient({ baseUrl: world.worker.url, ...app });
    const fields = { sbs: "task", sbs_mc: "Task", ip: "127.0.0.1", content: "Hello", kefu_id: [10401], fzr_uid: 10401 };
    return (await caller.send("create_gd", { timestamp: SHOWN, ...fields })).status;
  };
  const pathsIn = async (selector: string) =>
    main()
      .locator(selector)
      .evaluateAll((links) => links.map((each) => new URL((each as { href?: string }).href ?? "").pathname));

  // These two come first, because the queue begins to post when something is sent again, or when a later task sends a call.
  task("an operator finds the webhook that hangs, and why", async () => {
    await toWebhook("hanging");
    expect(await textOf()).toMatch(/Failing for 1 day/);
    expect(await textOf()).toContain("No answer within 15 s");
  });

  task("an operator sends again what a webhook missed lately, after a count", async (choose) => {
    const [label, seconds] = choose(["The last hour", 3_600], ["The last 24 hours", 86_400]);
    /** The number of deliveries of that time that were not delivered. */
    const missedCount = (more: string) =>
      world.db
        .prepare(
          `SELECT count(*) AS n FROM deliveries
           WHERE webhook_id = ? AND created_at > ? AND status IN ('pending', 'failed') ${more}`,
        )
        .bind(world.webhooks.failing, SHOWN - seconds)
        .first<number>("n");
    const before = await missedCount("");
    expect(before).toBeGreaterThan(5);
    await toWebhook("failing");
    await follow(/^Send again/);
    await main().getByLabel("Time", { exact: true }).selectOption({ label });
    await press("Count");
    expect(await textOf()).toContain(`${before} events match`);
    await press(`Send ${before} events again`);
    // Deliveries that are sent again start at 0 attempts.
    expect(await missedCount("AND attempts >= 3")).toBe(0);
  });

  task("an operator finds a customer's sessions", async () => {
    await search(customerOf(57));
    const paths = await pathsIn("a[href*='/sessions/']");
    for (const id of [57, 177, 297]) expect(paths).toContain(`${world.sites.busy}/sessions/${id}`);
  });

  task("an operator finds a customer by the beginning of the name", async () => {
    await follow("Northwind Store");
    await toTab("Customers");
    await main().locator("[name=sbs]").fill("mei t");
    await press("Find");
    expect(await main().locator("tbody th").allInnerTexts()).toContain("Mei Tanaka");
    await follow("Mei Tanaka");
    expect(await page.locator("h1").innerText()).toBe("Mei Tanaka");
    expect(page.url()).not.toMatch(/mei/i);
  });

  task("an operator sees which sessions an agent is responsible for", async () => {
    await follow("Northwind Store");
    await toTab("Agents");
    await follow("Jonas Souza");
    expect(await page.locator("h1").innerText()).toBe("Jonas Souza");
    const paths = await pathsIn("section:has(h2:text('where they are responsible')) tbody th a");
    expect(paths).toContain(`${world.sites.busy}/sessions/265`);
  });

  task("an operator finds a session by a word of its title", async () => {
    await search("20418");
    await follow(/Refund for order 20418/);
    expect(await page.locator("h1").innerText()).toContain("Refund for order 20418");
  });

  for (const [reason, text] of [
    ["signature_mismatch", "The signature did not fit the body."],
    ["timestamp_stale", "The timestamp was too old."],
    ["agents_invalid", "An agent was unknown, foreign or disabled."],
  ])
    task(`an operator learns from the request id why a call was refused for ${reason}`, async () => {
      await search(world.refusals.find((each) => each.reason === reason)?.requestId ?? "");
      expect(await textOf()).toContain(text);
    });

  task("an operator finds refused calls by their time", async () => {
    const [refusal] = world.refusals.filter(({ reason }) => reason === "fields_invalid").slice(-1);
    const minute = new Date((refusal?.at ?? 0) * 1000).toISOString().slice(0, 16);
    await follow("Northwind Store");
    await toTab("Refused calls");
    await openFilter();
    await main().getByLabel("From").fill(minute);
    await main().getByLabel("To", { exact: true }).fill(minute);
    await find();
    const row = main().locator("tbody tr", { has: page.locator(`a[href*="${refusal?.requestId}"]`) });
    expect(await row.innerText()).toContain("A field broke a rule.");
  });

  task("an operator rotates a secret without an outage", async (choose) => {
    const [app, name] = choose([world.apps.till, "门店收银系统"], [world.apps.shopApp, "Shop back end"]);
    await search(name);
    await openFound(name);
    await main().getByLabel("Overlap").selectOption("3600");
    await press("Rotate");
    const next = { ...app, secret: await page.locator("#secret").innerText() };
    expect([await statusOf(app), await statusOf(next)]).toEqual([200, 200]);
  });

  task("an operator ends an overlap after seeing who still uses the old secret", async () => {
    const { overlappingApp } = world.apps;
    await search("Warehouse");
    await openFound("Warehouse");
    expect(await textOf()).toMatch(/old one.{0,80}until|old secret.{0,80}until/i);
    expect(await textOf()).toContain("last used");
    await follow(/The old secret stops now/);
    await press(/^The old secret stops now|^Stop|^End/);
    expect(await statusOf({ ...overlappingApp, secret: overlappingApp.previousSecret })).toBe(401);
    expect(await statusOf(overlappingApp)).toBe(200);
    // The mode that runs next needs a new overlap for this task.
    overlappingApp.previousSecret = overlappingApp.secret;
    const rotate = `/admin/apps/${overlappingApp.appid}/rotate`;
    overlappingApp.secret = (await world.worker.admin<App>("POST", rotate, { overlap_seconds: 86_400 })).secret;
  });

  task("an operator revokes an app", async (choose) => {
    const name = choose("Kiosk", "Terminal");
    const app = await world.worker.admin<App>("POST", `/admin/sites/${world.siteId}/apps`, { name });
    expect(await statusOf(app)).toBe(200);
    await search(name);
    await openFound(name);
    await follow("Revoke this app…");
    await press("Revoke for good");
    expect(await statusOf(app)).toBe(401);
    expect(await textOf()).toContain("Revoked");
  });

  task("an operator adds 50 pasted agents after correcting three wrong lines", async (choose) => {
    const from = choose(20_000, 30_000);
    await follow("Northwind Store");
    await toTab("Agents");
    const lines = Array.from({ length: 50 }, (_, i) => `${from + i},"Agent, ${i}"`);
    const wrong = lines.map((line, i) =>
      i === 5 ? "ten, Ben" : i === 17 ? `${from + 3}, Twice` : i === 40 ? `${from + 40}` : line,
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
    const query = world.db.prepare("SELECT count(*) AS n FROM agents WHERE id BETWEEN ?1 AND ?1 + 49").bind(from);
    expect(await query.first("n")).toBe(50);
  });

  task("an operator disables an agent", async (choose) => {
    const id = choose(10_502, 10_503);
    await follow("Northwind Store");
    await toTab("Agents");
    await openFilter();
    await main().locator("[name=q]").fill(`${id}`);
    await find();
    await main().locator("details.menu summary").first().click();
    await press(/^Disable/);
    expect(await world.db.prepare("SELECT status FROM agents WHERE id = ?").bind(id).first("status")).toBe("disabled");
    expect(
      await main()
        .locator("tbody tr", { hasText: `${id}` })
        .innerText(),
    ).toContain("Disabled");
  });

  /** Changes the site as another operator does meanwhile. */
  const set = (status: "open" | "closed") =>
    world.worker.admin("PATCH", `/admin${world.sites.empty.replace("/console", "")}`, { status });

  task("an operator closes a site", async () => {
    await set("open");
    await follow("西风商店");
    await toTab("Settings");
    await follow("Close this site…");
    await press("Close now");
    expect(await page.locator(".state").innerText()).toContain("Closed");
  });

  task("an operator opens a closed site", async () => {
    await set("closed");
    await follow("西风商店");
    if ((await main().getByRole("button", { name: "Open this site" }).count()) === 0) await follow("To the settings");
    await press("Open this site");
    await toTab("Overview");
    expect(await page.locator(".state").innerText()).toContain("Open");
  });

  task("an operator sees what a person did yesterday", async () => {
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

  task("an operator sees how many sessions each day of two weeks had", async () => {
    await follow("Northwind Store");
    await main()
      .locator("summary", { hasText: /each day/ })
      .first()
      .click();
    const table = main().getByRole("table", { name: /by day/ });
    expect(await table.locator("thead").innerText()).toMatch(/Sessions/i);
    expect(await table.locator("tbody tr").count()).toBe(14);
  });

  task("an operator sees which app makes most errors", async () => {
    await follow("Northwind Store");
    await toTab("Refused calls");
    const [most] = await main().getByRole("navigation", { name: "By app" }).getByRole("link").allInnerTexts();
    expect(most).toMatch(/^Warehouse\s+[\d,]+$/);
  });

  task("an operator erases a customer", async (choose) => {
    const sbs = customerOf(choose(30, 31));
    await search(sbs);
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
    const row = await world.db.prepare("SELECT 1 FROM customers WHERE external_id = ?").bind(sbs).first();
    expect(row).toBeNull();
  });

  task("an operator makes a token with which a colleague can only look", async () => {
    await to(
      page.getByRole("navigation", { name: "Console" }).getByRole("link", { name: "People and tokens" }).click(),
    );
    await follow("Tokens for programs");
    await main().locator("summary", { hasText: "Make a token" }).click();
    await main().getByLabel("Name").fill("A colleague");
    await main().getByLabel("Role").selectOption("viewer");
    await press("Make the token");
    const authorization = `Bearer ${await page.locator("#token").innerText()}`;
    const call = async (method: string) =>
      (await fetch(new URL("/admin/sites", world.worker.url), { method, headers: { authorization } })).status;
    expect([await call("GET"), await call("POST")]).toEqual([200, 403]);
  });

  task("an operator sees that a home will be full next month", async () => {
    expect(await textOf()).toMatch(/apac.{0,60}full/i);
    await follow(/apac/);
    expect(await textOf()).toMatch(/Dec(ember)? 2026/);
  });

  /** Opens the filter of a list, which is folded on a phone and open in a wide window. */
  async function openFilter(): Promise<void> {
    const summary = main().locator(".filter summary:visible");
    if ((await summary.count()) > 0) await summary.first().click();
  }

  /** The text for a field, which may take a day only. */
  const timeFor = async (day: string, time: string) =>
    (await main().getByLabel("From").getAttribute("type")) === "date" ? day : `${day}T${time}`;

  const find = () => to(main().locator(".filter form > button").first().click());

  /** Follows the link to a search result. A single result is shown at once. */
  async function openFound(name: string): Promise<void> {
    if ((await page.locator("h1").innerText()) !== name) await follow(name);
  }

  /** Follows the link to a webhook from the list of troubles. */
  async function toWebhook(which: "hanging" | "failing"): Promise<void> {
    const link = main().locator(`a[href*="${world.webhooks[which]}"]`);
    const more = main().locator("summary", { hasText: /^Show \d+ more/ });
    if (!(await link.first().isVisible())) await more.click();
    await to(link.first().click());
  }
});
