import { describe, expect } from "vitest";
import type { BuiltWorker } from "../support/built-worker.ts";
import { PHONE } from "../support/open-browser.ts";
import { violations } from "../support/violations.ts";
import { it } from "./it.ts";
import { newShop } from "./new-shop.ts";
import { SCRIPT_MODES } from "./script-modes.ts";
import { press } from "./steps.ts";

/** Makes a site with one session that is 40 days old. */
async function provision(worker: BuiltWorker) {
  const { createSession, read, ...shop } = await newShop(worker);
  await createSession();
  await read("UPDATE sessions SET created_at = created_at - 40 * 86400 WHERE site_id = ?");
  return { ...shop, read };
}

// The tests run one after the other, because the cron of one deletes for all sites.
describe.sequential.each(SCRIPT_MODES)("sites, %s", (_, javaScriptEnabled) => {
  it("a site keeps its sessions for 30 days after an operator has typed the number twice", async ({
    worker,
    signedIn,
  }) => {
    const { site, read } = await provision(worker);
    const page = await signedIn(worker, { javaScriptEnabled, viewport: PHONE });
    const daysOf = () => read("SELECT retention_days FROM home_sites WHERE site_id = ?");
    await page.goto(`${site}/settings`);
    await page.getByLabel("Days").fill("30");
    await press(page, "Go on…");
    await page.getByRole("heading", { name: "Keep sessions for 30 days?" }).waitFor();
    await page.getByText("About 1, from").waitFor();
    // The browser requires the number before it sends anything.
    await press(page, "Change it now");
    expect(await daysOf()).toEqual([null]);
    await page.getByLabel("The number of days again").fill("30");
    await page.getByRole("button", { name: "Change it now" }).dblclick();
    await page.getByRole("heading", { name: "How long sessions are kept was changed." }).waitFor();
    if (javaScriptEnabled) expect(await violations(page)).toEqual([]);
    expect(await daysOf()).toEqual([30]);
    await page.getByText("older than 30 days: about 1,").waitFor();
    await worker.scheduled();
    await page.reload();
    await page.getByText("No session is older than 30 days.").waitFor();
    expect(await read("SELECT id FROM sessions WHERE site_id = ?")).toEqual([]);
  });

  it("a site is closed, and is deleted after an operator has typed its name", async ({ worker, signedIn }) => {
    const { site, read } = await provision(worker);
    const page = await signedIn(worker, { javaScriptEnabled, viewport: PHONE });
    await page.goto(`${site}/close`);
    await press(page, "Close now");
    await page.getByRole("link", { name: "Delete this site…" }).click();
    await page.getByRole("heading", { name: "Delete this site?" }).waitFor();
    await page.getByLabel("The site's name").fill("Sit");
    await press(page, "Delete this site now");
    await page.getByRole("link", { name: "The site's name" }).waitFor();
    if (javaScriptEnabled) expect(await violations(page)).toEqual([]);
    await page.getByLabel("The site's name").fill("Site");
    await page.getByRole("button", { name: "Delete this site now" }).dblclick();
    await page.getByRole("heading", { name: "This site is being deleted" }).waitFor();
    if (javaScriptEnabled) expect(await violations(page)).toEqual([]);
    expect(await read("SELECT status FROM sites WHERE id = ?")).toEqual(["deleting"]);
    await worker.scheduled();
    await page.reload();
    await page.getByRole("heading", { name: "This site is deleted" }).waitFor();
    if (javaScriptEnabled) expect(await violations(page)).toEqual([]);
    expect(await read("SELECT id FROM sessions WHERE site_id = ?")).toEqual([]);
    expect(await read("SELECT site_id FROM home_sites WHERE site_id = ?")).toEqual([]);
  });
});
