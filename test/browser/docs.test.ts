import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type BuiltWorker, startBuiltWorker } from "../support/built-worker.ts";
import { DESKTOP, openBrowser, PHONE } from "../support/open-browser.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

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

/** A page that collects what its policy refused, its errors, and its requests to other origins. */
async function open(path: string, options: { viewport?: typeof DESKTOP; colorScheme?: "light" | "dark" } = {}) {
  const context = await browser.newContext({ baseURL: worker.url, viewport: DESKTOP, ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(worker.url) && !url.startsWith("data:")) complaints.push(`asked for ${url}`);
  });
  await page.goto(path, { waitUntil: "networkidle" });
  return { page, complaints };
}

const overflow = (page: Page) => page.evaluate("document.documentElement.scrollWidth - innerWidth");
const background = (page: Page) => page.evaluate("getComputedStyle(document.body).backgroundColor");

describe.each([
  ["a desk, light", { viewport: DESKTOP, colorScheme: "light" }],
  ["a phone, dark", { viewport: PHONE, colorScheme: "dark" }],
] as const)("on %s", (_, options) => {
  it("draws the guide within its policy and its width, and loads nothing from other origins", async () => {
    const { page, complaints } = await open("/", options);
    expect(new URL(page.url()).pathname).toBe("/docs/");
    expect(await page.locator("h1").textContent()).toContain("support session");
    expect(await page.locator("[data-origin]").first().textContent()).toBe(worker.url);
    expect(await overflow(page)).toBe(0);
    await page.evaluate(AXE);
    const found = await page.evaluate(
      "axe.run({ runOnly: { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag22aa'] } })",
    );
    const { violations } = found as { violations: { id: string; nodes: { html: string }[] }[] };
    expect(violations.map(({ id, nodes }) => [id, nodes[0]?.html])).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it("draws the reference within its policy and its width, and loads nothing from other origins", async () => {
    const { page, complaints } = await open("/docs/reference/#/signed-operations/createsession", options);
    await page.getByText("Idempotency-Key", { exact: true }).first().waitFor();
    await page.getByText("customer_001").first().waitFor();
    expect(await overflow(page)).toBe(0);
    expect(complaints).toEqual([]);
  });
});

it("shows the examples of the chosen language, also without scripts", async () => {
  const context = await browser.newContext({ baseURL: worker.url, javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto("/docs/");
  for (const [nth, kind] of ["caller", "receiver"].entries()) {
    const tabs = page.locator(".tabs").nth(nth);
    const shown = () => tabs.locator(".panels section:visible").getAttribute("aria-label");
    expect(await shown()).toBe(`Shell, ${kind}`);
    for (const language of ["Java", "Go", "PHP", "Python", "Node"]) {
      await tabs.locator(".labels").getByText(language, { exact: true }).click();
      expect(await shown()).toBe(`${language}, ${kind}`);
    }
  }
});

it("finds a word in the reference's search", async () => {
  const { page, complaints } = await open("/docs/reference/");
  // The search builds its index before it answers.
  await page
    .getByText(/^Search/)
    .first()
    .waitFor();
  await page.keyboard.press("Control+k");
  await page.locator("input:focus").waitFor();
  await page.keyboard.type("overlap");
  await page.getByText("Rotate an app's secret").first().waitFor();
  expect(complaints).toEqual([]);
});

it("keeps the dark theme that was chosen in the reference when the guide is opened", async () => {
  const { page } = await open("/docs/reference/", { colorScheme: "light" });
  const light = await background(page);
  await page.locator('[data-component-name*="MoonIcon"]').click();
  await page.locator(".pages").getByText("Guide").click();
  await page.waitForURL("**/docs/");
  await page.waitForLoadState("networkidle");
  expect(await background(page)).not.toBe(light);
});
