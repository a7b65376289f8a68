/* biome-ignore-all lint/performance/useDomNodeTextContent: the tests compare the text that a reader sees. */
import { readFile } from "node:fs/promises";
import type { Browser, Page } from "playwright-core";
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

const heading = (page: Page) => page.locator("h1").innerText();

/** A site with two sessions of one customer, whose id has a line end and marks, and one session of another. */
async function provision() {
  const { siteId, ...app } = await worker.provision();
  const client = new AgentSessionClient({ baseUrl: worker.url, ...app });
  const sbs = `"mei"/../<b>\n${crypto.randomUUID()}`;
  const create = async (id: string) =>
    (
      await client.createSession({
        customer: { id, name: "Mei Tanaka", ip: "127.0.0.1" },
        content: "Where is my parcel?",
        agentIds: [10411],
        responsibleAgentId: 10411,
      })
    ).chatId;
  const chatIds = [await create(sbs), await create(sbs)];
  const other = await create("other");
  return { site: `/console/sites/${siteId}`, siteId, sbs, chatIds, other };
}

const customersOf = async (siteId: number) => {
  const rows = await (worker.env.DB as D1Database)
    .prepare("SELECT external_id FROM customers WHERE site_id = ?")
    .bind(siteId)
    .all();
  return rows.results.map(({ external_id }) => external_id);
};

describe.each([
  ["with script", true],
  ["without script", false],
])("one customer's data, %s", (_, javaScriptEnabled) => {
  it("is downloaded as a file, from the page of a session", async () => {
    const { site, sbs, chatIds } = await provision();
    const page = await signedInPage(browser, worker, { javaScriptEnabled });
    await page.goto(`${site}/sessions/${chatIds[1]}`);
    await page.getByRole("link", { name: "Mei Tanaka" }).click();
    const downloading = page.waitForEvent("download");
    await page.getByRole("button", { name: "Hand over as a file" }).click();
    const download = await downloading;
    expect(download.suggestedFilename()).toMatch(/^customer-data-of-site-\d+\.json$/);
    const file = JSON.parse(await readFile(await download.path(), "utf8"));
    expect([file.customer.sbs, file.customer.name]).toEqual([sbs, "Mei Tanaka"]);
    expect(file.sessions.map((session: { chat_id: number }) => session.chat_id)).toEqual(chatIds);
    expect(file.sessions[0].messages[0].content).toBe("Where is my parcel?");
    // The page stays, and its other button works at once.
    await page.getByRole("button", { name: "Erase this customer…" }).click();
    await page.getByRole("heading", { name: "Erase this customer's data?" }).waitFor();
  });

  it("is erased after a question, and the way back erases nobody else", async () => {
    const { site, siteId, chatIds } = await provision();
    const page = await signedInPage(browser, worker, { javaScriptEnabled, viewport: PHONE });
    const addresses: string[] = [];
    page.on("framenavigated", (frame) => addresses.push(frame.url()));
    await page.goto(`${site}/customers?chat_id=${chatIds[0]}`);
    if (javaScriptEnabled) expect(await violations(page)).toEqual([]);
    await page.getByRole("button", { name: "Erase this customer…" }).click();
    expect(await heading(page)).toBe("Erase this customer's data?");
    if (javaScriptEnabled) expect(await violations(page)).toEqual([]);
    // The browser asks for the tick before it sends anything.
    await page.getByRole("button", { name: "Erase now" }).click();
    expect(await customersOf(siteId)).toHaveLength(2);
    await page.getByLabel("Nobody can undo this").check();
    // A page with script drops the second submit within three seconds, and the first was stopped before it was one.
    await page.getByRole("button", { name: "Erase now" }).dblclick();
    await page.getByRole("heading", { name: "A customer's data was erased" }).waitFor();
    expect(await page.getByRole("status").innerText()).toContain("It is done");
    if (javaScriptEnabled) expect(await violations(page)).toEqual([]);
    expect(await customersOf(siteId)).toEqual(["other"]);
    const done = page.url();
    await page.reload();
    expect(await heading(page)).toBe("A customer's data was erased");
    expect(page.url()).toBe(done);
    expect(addresses.join("\n")).not.toMatch(/mei/);
    expect(await customersOf(siteId)).toEqual(["other"]);
  });
});
