import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { openBrowser, signedInPage } from "../support/open-browser.ts";
import { type BigWorld, startBigWorld } from "./big-world.ts";

let world: BigWorld;
let browser: Browser;

beforeAll(async () => {
  [world, browser] = await Promise.all([startBigWorld(), openBrowser()]);
});

afterEach(async () => {
  for (const context of browser.contexts()) await context.close();
});

afterAll(async () => {
  await browser?.close();
  await world?.close();
});

/** What has the focus, and whether a ring around it is drawn. */
const focused = (page: Page) =>
  page.evaluate<{ tag: string; id: string; inRow: number; hasRing: boolean }>(`(() => {
    const element = document.activeElement;
    const { outlineStyle, outlineWidth } = getComputedStyle(element);
    const rows = [...document.querySelectorAll("tbody tr")];
    return {
      tag: element.localName,
      id: element.id,
      inRow: rows.indexOf(element.closest("tbody tr")),
      hasRing: outlineStyle !== "none" && parseFloat(outlineWidth) > 0,
    };
  })()`);

const press = async (page: Page, ...keys: string[]) => {
  for (const key of keys) await page.keyboard.press(key);
};

/** The lists, with the address of each. */
const LISTS: [name: string, at: (world: BigWorld) => string][] = [
  ["sites", () => "/console"],
  ["sessions", ({ sites }) => `${sites.busy}/sessions`],
  ["apps", ({ sites }) => `${sites.busy}/apps`],
  ["agents", ({ sites }) => `${sites.busy}/agents`],
  ["webhooks", ({ sites }) => `${sites.busy}/webhooks`],
  ["refused calls", ({ sites }) => `${sites.busy}/refusals`],
  ["audit log", () => "/console/audit"],
  ["tokens", () => "/console/tokens"],
];

describe.each([
  ["with script", true],
  ["without script", false],
])("by keys alone, %s", (_, javaScriptEnabled) => {
  it("the first Tab of a page is the way to its heading", async () => {
    const page = await signedInPage(browser, world.worker, { javaScriptEnabled });
    for (const [name, at] of LISTS) {
      await page.goto(at(world));
      await press(page, "Tab");
      expect([name, await focused(page)]).toEqual([name, expect.objectContaining({ tag: "a", hasRing: true })]);
      await press(page, "Enter");
      expect([name, await focused(page)]).toEqual([name, expect.objectContaining({ tag: "h1", id: "top" })]);
    }
  });

  it("three Tabs lead to the first row of a list", async () => {
    const page = await signedInPage(browser, world.worker, { javaScriptEnabled });
    for (const [name, at] of LISTS) {
      await page.goto(at(world));
      await press(page, "Tab", "Tab", "Enter");
      expect([name, await focused(page)]).toEqual([name, expect.objectContaining({ id: "list" })]);
      await press(page, "Tab");
      expect([name, await focused(page)]).toEqual([name, expect.objectContaining({ inRow: 0, hasRing: true })]);
    }
  });

  it("the actions of a row open, and lead to the next row when they are closed", async () => {
    const page = await signedInPage(browser, world.worker, { javaScriptEnabled });
    await page.goto(`${world.sites.busy}/agents`);
    const menu = page.locator("details.menu").first();
    await menu.locator("summary").focus();
    await press(page, "Enter");
    expect(await menu.locator("button, a").first().isVisible()).toBe(true);
    await press(page, "Tab");
    expect(await focused(page)).toMatchObject({ inRow: 0, hasRing: true });
    if (javaScriptEnabled) {
      await press(page, "Escape");
      expect(await menu.getAttribute("open")).toBeNull();
      expect(await focused(page)).toMatchObject({ tag: "summary", inRow: 0 });
    }
  });
});

describe("the key /", () => {
  it("leads to the search from any page, and is a letter where one types", async () => {
    const page = await signedInPage(browser, world.worker);
    for (const [name, at] of LISTS) {
      await page.goto(at(world), { waitUntil: "load" });
      await press(page, "/");
      expect([name, await focused(page)]).toEqual([name, expect.objectContaining({ id: "find", hasRing: true })]);
      expect(await page.locator("#find").inputValue()).toBe("");
    }
    await press(page, "a", "/", "b");
    expect(await page.locator("#find").inputValue()).toBe("a/b");
  });
});
