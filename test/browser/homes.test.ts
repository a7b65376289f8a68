/* biome-ignore-all lint/performance/useDomNodeTextContent: the tests compare the text that a reader sees. */
import { describe, expect } from "vitest";
import { AgentSessionClient } from "../../src/client/client.ts";
import { it } from "./it.ts";
import { SCRIPT_MODES } from "./script-modes.ts";
import { faultsOf, follow, heading, press, secretOn, status } from "./steps.ts";

describe.each(SCRIPT_MODES)("homes, %s", (_, javaScriptEnabled) => {
  it("an operator creates a site in a home, sets its chat_id, closes and opens it, and cannot reconcile an open home", async ({
    worker,
    signedIn,
  }) => {
    const siteId = await (worker.env.DB as D1Database)
      .prepare(
        `INSERT INTO sites (name, home, first_chat_id, status, revision, created_at)
         VALUES ('Kyoto', 'apac', 1, 'creating', 0, 1) RETURNING id`,
      )
      .first<number>("id");
    const page = await signedIn(worker, { javaScriptEnabled });
    const faults = faultsOf(page);

    await page.locator("details.fold > summary").click();
    await page.getByLabel("Name").fill("Northwind Asia");
    await page.getByLabel("Home", { exact: true }).selectOption("apac");
    await page.locator("summary", { hasText: "Begin at another chat_id" }).click();
    await page.getByLabel("First chat_id").fill("5000");
    await press(page, "Create site");
    expect(await heading(page)).toBe("Northwind Asia");
    expect(await page.locator(".state").innerText()).toContain("Home apac");

    await follow(page, "Apps");
    await page.getByLabel("Name").fill("Shop");
    await press(page, "Issue app");
    const [appid, secret] = [await page.locator("#appid").innerText(), await secretOn(page)];
    const client = new AgentSessionClient({ baseUrl: worker.url, appid, secret });
    await follow(page, "Agents");
    await page.getByLabel("ID", { exact: true }).fill("1");
    await page.getByLabel("Name", { exact: true }).fill("Amara");
    await press(page, "Add agent");
    const create = () =>
      client.send("create_gd", { sbs: "1", sbs_mc: "A", ip: "127.0.0.1", content: "x", kefu_id: [1], fzr_uid: 1 });
    expect((await create()).envelope.data).toEqual({ chat_id: 5000 });

    await follow(page, "Settings");
    await page.getByLabel("Next chat_id").fill("6000");
    await press(page, "Set the chat_id…");
    expect(await heading(page)).toBe("Go on at chat_id 6000?");
    await press(page, "Set the chat_id");
    expect(await status(page)).toBe("The next chat_id was set.");
    expect((await create()).envelope.data).toEqual({ chat_id: 6000 });
    await page.getByLabel("Next chat_id").fill("10");
    await page.getByLabel("Next chat_id").press("Enter");
    await page.getByRole("alert").waitFor();
    expect(await page.locator("#first_chat_id-error").innerText()).toContain("Must be above 6000");
    expect(await page.evaluate("document.activeElement.id")).toBe("first_chat_id");

    await follow(page, "Close this site…");
    expect(await heading(page)).toBe("Close this site?");
    await press(page, "Close now");
    expect(await page.locator(".state").innerText()).toContain("Closed");
    expect((await create()).status).toBe(503);
    await press(page, "Open this site");
    expect((await create()).status).toBe(200);

    await page.goto(`/console/sites/${siteId}`);
    await press(page, "Finish this site");
    expect(await status(page)).toBe("The site was created.");

    await follow(page, "Homes");
    await follow(page, "It was restored… apac");
    await page.getByLabel("Session numbers to skip (chat_id)").fill("300");
    await press(page, "Go on…");
    await press(page, "It was restored: skip now");
    expect(await heading(page)).toBe("This home is open");
    expect((await create()).envelope.data).toEqual({ chat_id: 6002 });
    // These are the browser's own messages about the refused forms.
    expect(faults).toEqual(["400", "409"].map((status) => expect.stringContaining(`status of ${status}`)));
  });
});

// The walks run one after the other, because each moves all sites of the home.
describe.sequential.each(SCRIPT_MODES)("after the restore of a home, %s", (_, javaScriptEnabled) => {
  it("the reconciliation of a closed home shows the skipped ids in both languages", async ({ worker, signedIn }) => {
    const { id } = await worker.admin<{ id: number }>("POST", "/admin/sites", { name: "Tokyo", home: "shut" });
    const page = await signedIn(worker, { javaScriptEnabled });
    await page.goto("/console/homes");
    await follow(page, "It was restored… shut");
    await page.getByLabel("Session numbers to skip (chat_id)").fill("300");
    await press(page, "Go on…");
    await press(page, "It was restored: skip now");
    expect(await page.locator("main").innerText()).toContain(
      "The sites of the home shut have skipped session numbers (chat_id)",
    );
    await page.reload();
    await press(page, "中文");
    expect(await page.locator(".notice").innerText()).toBe("数据库（home）shut 的站点已跳号（chat_id）");
    const floor = (worker.env as unknown as Record<string, D1Database>).HOME_SHUT?.prepare(
      "SELECT chat_id_floor FROM home_sites WHERE site_id = ?",
    );
    expect(await floor?.bind(id).first("chat_id_floor")).toBe(300);
  });
});
