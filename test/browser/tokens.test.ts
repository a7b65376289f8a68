/* biome-ignore-all lint/performance/useDomNodeTextContent: the tests compare the text that a reader sees. */
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type BuiltWorker, startBuiltWorker } from "../support/built-worker.ts";
import { openBrowser, PHONE, signedInPage } from "../support/open-browser.ts";
import { violations } from "../support/violations.ts";

let worker: BuiltWorker;
let browser: Browser;

beforeAll(async () => {
  [worker, browser] = await Promise.all([startBuiltWorker(), openBrowser()]);
});

afterEach(async () => {
  for (const context of browser.contexts()) await context.close();
});

afterAll(async () => {
  await browser?.close();
  await worker?.close();
});

const PATH = "/console/tokens";

const namesOf = async () =>
  (await worker.admin<{ items: { name: string }[] }>("GET", "/admin/tokens?limit=100")).items.map(({ name }) => name);

const statusWith = async (token: string) =>
  (await fetch(new URL("/admin/sites", worker.url), { headers: { authorization: `Bearer ${token}` } })).status;

describe("a new token", () => {
  it("is copied by a press of its button, works, and is not shown again by a reload", async () => {
    const page = await signedInPage(browser, worker, { permissions: ["clipboard-read", "clipboard-write"] });
    await page.goto(PATH);
    await page.getByLabel("Name").fill("Copied");
    await page.getByRole("button", { name: "Make the token" }).click();
    await page.locator("#token").waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole("button", { name: "Copy Token" }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    const token = await page.evaluate<string>("navigator.clipboard.readText()");
    expect(token).toBe(await page.locator("#token").innerText());
    expect(await statusWith(token)).toBe(200);

    await page.reload();
    expect(new URL(page.url()).pathname).toBe(PATH);
    expect(await page.locator(".notice").innerText()).toContain("is not shown a second time");
    expect(await page.content()).not.toContain(token);

    const row = page.locator("tr", { hasText: "Copied" });
    await row.locator("details.menu > summary").click();
    await row.getByRole("link", { name: "Delete" }).click();
    expect(await violations(page)).toEqual([]);
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByText("The token was deleted").waitFor();
    expect(await statusWith(token)).toBe(401);
    expect(await namesOf()).not.toContain("Copied");
  });

  it.each([
    ["with script", true],
    ["without script", false],
  ])("is one after a double click, %s", async (name, javaScriptEnabled) => {
    const page = await signedInPage(browser, worker, { javaScriptEnabled, viewport: PHONE });
    await page.goto(PATH);
    if ((await page.locator("details.fold[open]").count()) === 0) await page.locator("details.fold > summary").click();
    await page.getByLabel("Name").fill(name);
    await page.getByRole("button", { name: "Make the token" }).dblclick();
    await page.locator("#token, .notice.bad").first().waitFor();
    expect((await namesOf()).filter((each) => each === name)).toHaveLength(1);
  });
});
