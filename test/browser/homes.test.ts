/* biome-ignore-all lint/performance/useDomNodeTextContent: the tests compare the text that a reader sees. */
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { AgentSessionClient } from "../../src/client/client.ts";
import { type BuiltWorker, startBuiltWorker } from "../support/built-worker.ts";
import { openBrowser, PHONE, signedInPage } from "../support/open-browser.ts";
import { violations } from "../support/violations.ts";

let worker: BuiltWorker;
let browser: Browser;

beforeAll(async () => {
  [worker, browser] = await Promise.all([startBuiltWorker({ homes: ["DB", "HOME_APAC"] }), openBrowser()]);
});

afterEach(async () => {
  for (const context of browser.contexts()) await context.close();
});

afterAll(async () => {
  await browser?.close();
  await worker?.close();
});

const heading = (page: Page) => page.locator("h1").innerText();
const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();
const follow = (page: Page, name: string) => page.getByRole("link", { name, exact: true }).click();

/** A site in `apac`, closed or not, and a site that is in the directory only. */
async function provision() {
  const open = await worker.admin<{ id: number }>("POST", "/admin/sites", { name: "Tokyo", home: "apac" });
  const closed = await worker.admin<{ id: number }>("POST", "/admin/sites", { name: "Osaka", home: "apac" });
  await worker.admin("PATCH", `/admin/sites/${closed.id}`, { status: "closed" });
  const begun = await worker.env.DB?.prepare(
    "INSERT INTO sites (name, home, first_chat_id, status, revision, created_at) VALUES ('Kyoto', 'apac', 1, 'creating', 0, 1) RETURNING id",
  ).first<{ id: number }>();
  const siteOf = ({ id }: { id: number }) => `/console/sites/${id}`;
  return { open: siteOf(open), closed: siteOf(closed), begun: siteOf(begun ?? { id: 0 }) };
}

const everyPage = ({ open, closed, begun }: Awaited<ReturnType<typeof provision>>) => [
  "/console",
  open,
  closed,
  begun,
  `${begun}/apps`,
  `${open}/settings`,
  `${closed}/settings`,
  `${open}/close`,
  `${open}/audit`,
  "/console/audit",
  "/console/homes",
  "/console/homes/apac/restored",
  "/console/homes/apac/restored?lift=x",
  "/console/homes/apac/restored?lift=1000",
];

describe.each([
  ["with script", true],
  ["without script", false],
])("an operator's walk through homes, %s", (_, javaScriptEnabled) => {
  it("creates a site in a home, closes and opens it, sets its chat_id, finishes another, and refuses to reconcile an open home", async () => {
    const { begun } = await provision();
    const page = await signedInPage(browser, worker, { javaScriptEnabled });
    const faults: string[] = [];
    page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
    page.on("pageerror", (error) => faults.push(error.message));

    await page.locator("details.fold > summary").click();
    await page.getByLabel("Name").fill("Northwind Asia");
    await page.getByLabel("Home", { exact: true }).selectOption("apac");
    await page.locator("summary", { hasText: "Begin at another chat_id" }).click();
    await page.getByLabel("First chat_id").fill("5000");
    await press(page, "Create site");
    expect(await heading(page)).toBe("Northwind Asia");
    expect(await page.locator(".state").innerText()).toContain("Home apac");

    await follow(page, "Apps");
    await page.getByLabel("Name").fill("Shop");
    await press(page, "Issue app");
    const [appid, secret] = [await page.locator("#appid").innerText(), await page.locator("#secret").innerText()];
    const client = new AgentSessionClient({ baseUrl: worker.url, appid, secret });
    await follow(page, "Agents");
    await page.getByLabel("ID", { exact: true }).fill("1");
    await page.getByLabel("Name", { exact: true }).fill("Amara");
    await press(page, "Add agent");
    const create = () =>
      client.send("create_gd", { sbs: "1", sbs_mc: "A", ip: "127.0.0.1", content: "x", kefu_id: [1], fzr_uid: 1 });
    expect((await create()).envelope.data).toEqual({ chat_id: 5000 });

    await follow(page, "Settings");
    await page.getByLabel("Next chat_id").fill("6000");
    await press(page, "Set the chat_id");
    expect(await page.getByRole("status").innerText()).toBe("The next chat_id was set.");
    expect((await create()).envelope.data).toEqual({ chat_id: 6000 });
    await page.getByLabel("Next chat_id").fill("10");
    await page.getByLabel("Next chat_id").press("Enter");
    await page.getByRole("alert").waitFor();
    expect(await page.locator("#first_chat_id-error").innerText()).toContain("Must be above 6000");
    expect(await page.evaluate("document.activeElement.id")).toBe("first_chat_id");

    await follow(page, "Close this site…");
    expect(await heading(page)).toBe("Close this site?");
    await press(page, "Close now");
    expect(await page.locator(".state").innerText()).toContain("Closed");
    expect((await create()).status).toBe(503);
    await press(page, "Open this site");
    expect((await create()).status).toBe(200);

    await page.goto(begun);
    await press(page, "Finish this site");
    expect(await page.getByRole("status").innerText()).toBe("The site was created.");

    await follow(page, "Homes");
    await follow(page, "It was restored… apac");
    await page.getByLabel("Session numbers to skip (chat_id)").fill("300");
    await press(page, "Go on…");
    await press(page, "It was restored: skip now");
    expect(await heading(page)).toBe("This home is open");
    expect((await create()).envelope.data).toEqual({ chat_id: 6002 });
    // The browser's own messages about the forms that it refused to send.
    expect(faults).toEqual(["400", "409"].map((status) => expect.stringContaining(`status of ${status}`)));
  });
});

describe.each([
  ["with script", true],
  ["without script", false],
])("an operator's walk after the restore of a home, %s", (_, javaScriptEnabled) => {
  it("reconciles the closed home, and shows the skipped ids in both languages", async () => {
    const shut = await startBuiltWorker({ homes: ["DB", "HOME_APAC"], vars: { CLOSED_HOMES: "apac" } });
    try {
      await shut.admin("POST", "/admin/sites", { name: "Tokyo", home: "apac" });
      const page = await signedInPage(browser, shut, { javaScriptEnabled });
      await page.goto("/console/homes");
      await follow(page, "It was restored… apac");
      await page.getByLabel("Session numbers to skip (chat_id)").fill("300");
      await press(page, "Go on…");
      await press(page, "It was restored: skip now");
      expect(await page.locator("main").innerText()).toContain(
        "The sites of the home apac have skipped session numbers (chat_id)",
      );
      await page.reload();
      await press(page, "中文");
      expect(await page.locator(".notice").innerText()).toBe("数据库（home）apac 的站点已跳号（chat_id）");
      const row = await (shut.env as unknown as Record<string, D1Database>).HOME_APAC?.prepare(
        "SELECT chat_id_floor FROM home_sites",
      ).first();
      expect(row).toEqual({ chat_id_floor: 300 });
    } finally {
      await shut.close();
    }
  });
});

describe("the pages of homes", () => {
  it("fit windows of any width without scrolling sideways", async () => {
    const sites = await provision();
    const page = await signedInPage(browser, worker);
    for (const width of [1280, 900, 700, 390, 320]) {
      await page.setViewportSize({ width, height: 800 });
      for (const path of everyPage(sites)) {
        await page.goto(path);
        const beyond = await page.evaluate(
          "document.documentElement.scrollWidth - document.documentElement.clientWidth",
        );
        expect([width, path, beyond]).toEqual([width, path, 0]);
      }
    }
  });

  it.each([
    ["light", { colorScheme: "light" }],
    ["dark", { colorScheme: "dark" }],
    ["on a phone", { viewport: PHONE }],
    ["Chinese", { locale: "zh-CN" }],
  ] as const)("has no accessibility violation: %s", async (_, options) => {
    const sites = await provision();
    const page = await signedInPage(browser, worker, { ...options, bypassCSP: true } as never);
    for (const path of everyPage(sites)) {
      await page.goto(path);
      expect([path, await violations(page)]).toEqual([path, []]);
    }
    await page.goto("/console/homes/apac/restored?lift=1000");
    await page.locator("main form button").click();
    expect(["settled", await violations(page)]).toEqual(["settled", []]);
    await page.goto("/console");
    for (const summary of await page.locator("summary").all()) await summary.click();
    expect(["form", await violations(page)]).toEqual(["form", []]);
  });
});
