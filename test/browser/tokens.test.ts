/* biome-ignore-all lint/performance/useDomNodeTextContent: the tests compare the text that a reader sees. */
import { describe, expect } from "vitest";
import type { BuiltWorker } from "../support/built-worker.ts";
import { PHONE } from "../support/open-browser.ts";
import { it } from "./it.ts";
import { SCRIPT_MODES } from "./script-modes.ts";
import { press, unfold } from "./steps.ts";

const PATH = "/console/tokens";

const namesOf = async (worker: BuiltWorker) =>
  (await worker.admin<{ items: { name: string }[] }>("GET", "/admin/tokens?limit=100")).items.map(({ name }) => name);

const statusWith = async (worker: BuiltWorker, token: string) =>
  (await fetch(new URL("/admin/sites", worker.url), { headers: { authorization: `Bearer ${token}` } })).status;

describe("tokens", () => {
  it("a button copies a new token, the token works, and a reload does not show it again", async ({
    worker,
    signedIn,
  }) => {
    const page = await signedIn(worker, { permissions: ["clipboard-read", "clipboard-write"] });
    await page.goto(PATH);
    await unfold(page, "Make a token");
    await page.getByLabel("Name").fill("Copied");
    await press(page, "Make the token");
    await page.locator("#token").waitFor();
    await press(page, "Copy Token");
    await page.getByRole("button", { name: "Copied" }).waitFor();
    const token = await page.evaluate<string>("navigator.clipboard.readText()");
    expect(token).toBe(await page.locator("#token").innerText());
    expect(await statusWith(worker, token)).toBe(200);

    await page.reload();
    expect(new URL(page.url()).pathname).toBe(PATH);
    expect(await page.locator(".notice").innerText()).toContain("is not shown a second time");
    expect(await page.content()).not.toContain(token);

    const row = page.locator("tr", { hasText: "Copied" });
    await row.locator("details.menu > summary").click();
    await row.getByRole("link", { name: "Delete" }).click();
    await press(page, "Delete");
    await page.getByText("The token was deleted").waitFor();
    expect(await statusWith(worker, token)).toBe(401);
    expect(await namesOf(worker)).not.toContain("Copied");
  });

  it.for(SCRIPT_MODES)(
    "a double click makes only one token, %s",
    async ([name, javaScriptEnabled], { worker, signedIn }) => {
      const page = await signedIn(worker, { javaScriptEnabled, viewport: PHONE });
      await page.goto(PATH);
      await unfold(page, "Make a token");
      await page.getByLabel("Name").fill(name);
      await page.getByRole("button", { name: "Make the token" }).dblclick();
      await page.locator("#token, .notice.bad").first().waitFor();
      expect((await namesOf(worker)).filter((each) => each === name)).toHaveLength(1);
    },
  );
});
