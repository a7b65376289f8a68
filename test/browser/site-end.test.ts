import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { AgentSessionClient } from "../../src/client/client.ts";
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

/** A site with one session that is 40 days old. */
async function provision() {
  const { siteId, ...app } = await worker.provision();
  const client = new AgentSessionClient({ baseUrl: worker.url, ...app });
  await client.createSession({
    customer: { id: "mei", name: "Mei Tanaka", ip: "127.0.0.1" },
    content: "Where is my parcel?",
    agentIds: [10411],
    responsibleAgentId: 10411,
  });
  const age = "UPDATE sessions SET created_at = created_at - 40 * 86400 WHERE site_id = ?";
  await (worker.env.DB as D1Database).prepare(age).bind(siteId).run();
  return { siteId, site: `/console/sites/${siteId}` };
}

const read = (siteId: number) => async (query: string) =>
  (await (worker.env.DB as D1Database).prepare(query).bind(siteId).raw()).flat();

describe.each([
  ["with script", true],
  ["without script", false],
])("a site, %s", (_, javaScriptEnabled) => {
  it("keeps its sessions for 30 days after the number was typed twice", async () => {
    const { site, siteId } = await provision();
    const page = await signedInPage(browser, worker, { javaScriptEnabled, viewport: PHONE });
    const daysOf = () => read(siteId)("SELECT retention_days FROM home_sites WHERE site_id = ?");
    await page.goto(`${site}/settings`);
    if (javaScriptEnabled) expect(await violations(page)).toEqual([]);
    await page.getByLabel("Days").fill("30");
    await page.getByRole("button", { name: "Go on…" }).click();
    await page.getByRole("heading", { name: "Keep sessions for 30 days?" }).waitFor();
    if (javaScriptEnabled) expect(await violations(page)).toEqual([]);
    await page.getByText("About 1, from").waitFor();
    // The browser asks for the number before it sends anything.
    await page.getByRole("button", { name: "Change it now" }).click();
    expect(await daysOf()).toEqual([null]);
    await page.getByLabel("The number of days again").fill("30");
    await page.getByRole("button", { name: "Change it now" }).dblclick();
    await page.getByRole("heading", { name: "How long sessions are kept was changed." }).waitFor();
    if (javaScriptEnabled) expect(await violations(page)).toEqual([]);
    expect(await daysOf()).toEqual([30]);
    await page.getByText("still to go: about 1.").waitFor();
    await worker.scheduled();
    await page.reload();
    await page.getByText("No session is older than 30 days.").waitFor();
    expect(await read(siteId)("SELECT id FROM sessions WHERE site_id = ?")).toEqual([]);
  });

  it("is closed, and deleted after its name was typed", async () => {
    const { site, siteId } = await provision();
    const page = await signedInPage(browser, worker, { javaScriptEnabled, viewport: PHONE });
    await page.goto(`${site}/close`);
    await page.getByRole("button", { name: "Close now" }).click();
    await page.getByRole("link", { name: "Delete this site…" }).click();
    await page.getByRole("heading", { name: "Delete this site?" }).waitFor();
    if (javaScriptEnabled) expect(await violations(page)).toEqual([]);
    await page.getByLabel("The site's name").fill("Sit");
    await page.getByRole("button", { name: "Delete this site now" }).click();
    await page.getByRole("link", { name: "The site's name" }).waitFor();
    if (javaScriptEnabled) expect(await violations(page)).toEqual([]);
    await page.getByLabel("The site's name").fill("Site");
    await page.getByRole("button", { name: "Delete this site now" }).dblclick();
    await page.getByRole("heading", { name: "This site is being deleted" }).waitFor();
    if (javaScriptEnabled) expect(await violations(page)).toEqual([]);
    expect(await read(siteId)("SELECT status FROM sites WHERE id = ?")).toEqual(["deleting"]);
    await worker.scheduled();
    await page.reload();
    await page.getByRole("heading", { name: "This site is deleted" }).waitFor();
    if (javaScriptEnabled) expect(await violations(page)).toEqual([]);
    expect(await read(siteId)("SELECT id FROM sessions WHERE site_id = ?")).toEqual([]);
    expect(await read(siteId)("SELECT site_id FROM home_sites WHERE site_id = ?")).toEqual([]);
  });
});
