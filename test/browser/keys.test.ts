import type { Page } from "playwright-core";
import { describe, expect } from "vitest";
import { it } from "./it.ts";
import { PAGES } from "./pages.ts";
import { SCRIPT_MODES } from "./script-modes.ts";

/** The focused element, and whether it has a visible ring. */
const focusOf = (page: Page) =>
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

const LISTS = PAGES.filter(({ name }) =>
  ["sites", "sessions", "apps", "agents", "webhooks", "refusals", "audit-all", "tokens"].includes(name),
);

describe.each(SCRIPT_MODES)("by keyboard alone, %s", (_, javaScriptEnabled) => {
  it("the first Tab of a page leads to the link to its heading", async ({ world, signedIn }) => {
    const page = await signedIn(world.worker, { javaScriptEnabled });
    for (const { name, at } of LISTS) {
      await page.goto(at(world));
      await press(page, "Tab");
      expect([name, await focusOf(page)]).toEqual([name, expect.objectContaining({ tag: "a", hasRing: true })]);
      await press(page, "Enter");
      expect([name, await focusOf(page)]).toEqual([name, expect.objectContaining({ tag: "h1", id: "top" })]);
    }
  });

  it("three Tabs lead to the first row of a list", async ({ world, signedIn }) => {
    const page = await signedIn(world.worker, { javaScriptEnabled });
    for (const { name, at } of LISTS) {
      await page.goto(at(world));
      await press(page, "Tab", "Tab", "Enter");
      expect([name, await focusOf(page)]).toEqual([name, expect.objectContaining({ id: "list" })]);
      await press(page, "Tab");
      expect([name, await focusOf(page)]).toEqual([name, expect.objectContaining({ inRow: 0, hasRing: true })]);
    }
  });

  it("the menu of a row opens by key, and Escape closes it", async ({ world, signedIn }) => {
    const page = await signedIn(world.worker, { javaScriptEnabled });
    await page.goto(`${world.sites.busy}/agents`);
    const menu = page.locator("details.menu").first();
    await menu.locator("summary").focus();
    await press(page, "Enter");
    expect(await menu.locator("button, a").first().isVisible()).toBe(true);
    await press(page, "Tab");
    expect(await focusOf(page)).toMatchObject({ inRow: 0, hasRing: true });
    if (javaScriptEnabled) {
      await press(page, "Escape");
      expect(await menu.getAttribute("open")).toBeNull();
      expect(await focusOf(page)).toMatchObject({ tag: "summary", inRow: 0 });
    }
  });
});

describe("the key /", () => {
  it("the key / leads to the search from any page, also one that is scrolled down, and types a slash in a field", async ({
    world,
    signedIn,
  }) => {
    const page = await signedIn(world.worker);
    for (const { name, at } of LISTS) {
      await page.goto(at(world), { waitUntil: "load" });
      await press(page, "/");
      expect([name, await focusOf(page)]).toEqual([name, expect.objectContaining({ id: "find", hasRing: true })]);
      expect(await page.locator("#find").inputValue()).toBe("");
    }
    await page.evaluate("scrollTo(0, 1e6); document.activeElement.blur()");
    await press(page, "/");
    await page.waitForFunction("document.getElementById('find').getBoundingClientRect().top >= 0");
    await press(page, "a", "/", "b");
    expect(await page.locator("#find").inputValue()).toBe("a/b");
  });
});
