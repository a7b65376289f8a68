import { describe, expect } from "vitest";
import { it } from "./it.ts";

describe("the small script of the console", () => {
  it("a Copy button says Copied for two seconds, and then Copy again", async ({ world, signedIn }) => {
    const page = await signedIn(world.worker, { permissions: ["clipboard-read", "clipboard-write"] });
    await page.clock.install();
    await page.goto(`${world.sites.busy}/apps/${world.apps.shop}`);
    const button = page.locator("button[data-copy]").first();
    const label = await button.textContent();
    await button.click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    await page.clock.runFor(1_900);
    expect(await button.textContent()).toBe("Copied");
    await page.clock.runFor(200);
    expect(await button.textContent()).toBe(label);
  });

  it("a time of the last day goes on by itself, by the server's clock", async ({ world, signedIn }) => {
    const page = await signedIn(world.worker);
    await page.clock.install({ time: "2001-01-01T00:00:00Z" });
    await page.goto(`${world.sites.busy}/sessions`);
    const times = page.locator("time[data-ago]");
    const place = (await times.allTextContents()).findIndex((text) => /\d+ min/.test(text));
    const minutesOf = async () => Number(/\d+/.exec((await times.nth(place).textContent()) ?? ""));
    const before = await minutesOf();
    await page.clock.runFor(120_000);
    expect(await minutesOf()).toBe(before + 2);
    await page.clock.runFor(86_400_000);
    expect((await times.allTextContents()).filter((text) => / min/.test(text))).toEqual([]);
  });

  it("the arrow keys walk through the menu of a row, around its ends", async ({ world, signedIn }) => {
    const page = await signedIn(world.worker);
    await page.goto(`${world.sites.busy}/agents`);
    const menu = page.locator("details.menu").first();
    /** The place of the focused item in the open menu. */
    const walk = async (key: string) => {
      await page.keyboard.press(key);
      return page.evaluate<number>(
        '[...document.querySelectorAll("details.menu[open] :is(a, button)")].indexOf(document.activeElement)',
      );
    };
    await menu.locator("summary").focus();
    const last = (await menu.locator("a, button").count()) - 1;
    expect(await walk("ArrowUp")).toBe(last);
    expect(await walk("ArrowDown")).toBe(0);
    expect(await walk("ArrowDown")).toBe(1);
    expect(await walk("ArrowUp")).toBe(0);
    await page.keyboard.press("Escape");
    expect(await menu.getAttribute("open")).toBeNull();
  });
});
