/* biome-ignore-all lint/performance/useDomNodeTextContent: the tests compare the text that a reader sees. */
import { readFile } from "node:fs/promises";
import { describe, expect } from "vitest";
import type { BuiltWorker } from "../support/built-worker.ts";
import { PHONE } from "../support/open-browser.ts";
import { it } from "./it.ts";
import { newShop } from "./new-shop.ts";
import { SCRIPT_MODES } from "./script-modes.ts";
import { heading, press, status } from "./steps.ts";

/** Makes a site with two sessions of one customer, whose id has a line end and marks, and one session of another customer. */
async function provision(worker: BuiltWorker) {
  const { createSession, read, ...shop } = await newShop(worker);
  const sbs = `"mei"/../<b>\n${crypto.randomUUID()}`;
  const create = (id: string) => createSession({ customer: { id, name: "Mei Tanaka", ip: "127.0.0.1" } });
  const chatIds = [await create(sbs), await create(sbs)];
  await create("other");
  return { ...shop, sbs, chatIds, customers: () => read("SELECT external_id FROM customers WHERE site_id = ?") };
}

describe.each(SCRIPT_MODES)("customers, %s", (_, javaScriptEnabled) => {
  it("a customer's data is downloaded as a file, from the page of a session", async ({ worker, signedIn }) => {
    const { site, sbs, chatIds } = await provision(worker);
    const page = await signedIn(worker, { javaScriptEnabled });
    await page.goto(`${site}/sessions/${chatIds[1]}`);
    await page.getByRole("link", { name: "Mei Tanaka" }).click();
    const downloading = page.waitForEvent("download");
    await press(page, "Export as a file");
    const download = await downloading;
    expect(download.suggestedFilename()).toMatch(/^customer-data-of-site-\d+\.json$/);
    const file = JSON.parse(await readFile(await download.path(), "utf8"));
    expect([file.customer.sbs, file.customer.name]).toEqual([sbs, "Mei Tanaka"]);
    expect(file.sessions.map((session: { chat_id: number }) => session.chat_id)).toEqual(chatIds);
    expect(file.sessions[0].messages[0].content).toBe("Where is my parcel?");
    // The page stays, and its other button works at once.
    await press(page, "Erase this customer…");
    await page.getByRole("heading", { name: "Erase this customer's data?" }).waitFor();
  });

  it("a customer's data is erased after a question, and a reload erases nobody else", async ({ worker, signedIn }) => {
    const { site, chatIds, customers } = await provision(worker);
    const page = await signedIn(worker, { javaScriptEnabled, viewport: PHONE });
    const addresses: string[] = [];
    page.on("framenavigated", (frame) => addresses.push(frame.url()));
    await page.goto(`${site}/customers?chat_id=${chatIds[0]}`);
    await press(page, "Erase this customer…");
    expect(await heading(page)).toBe("Erase this customer's data?");
    // The browser requires the tick before it sends anything.
    await press(page, "Erase now");
    expect(await customers()).toHaveLength(2);
    await page.getByLabel("Nobody can undo this").check();
    // The script drops a second submit within three seconds. The press above did not count as a submit, because the browser stopped it.
    await page.getByRole("button", { name: "Erase now" }).dblclick();
    await page.getByRole("heading", { name: "A customer's data was erased" }).waitFor();
    expect(await status(page)).toContain("It is done");
    expect(await customers()).toEqual(["other"]);
    const doneUrl = page.url();
    await page.reload();
    expect(await heading(page)).toBe("A customer's data was erased");
    expect(page.url()).toBe(doneUrl);
    expect(addresses.join("\n")).not.toMatch(/mei/);
    expect(await customers()).toEqual(["other"]);
  });
});
