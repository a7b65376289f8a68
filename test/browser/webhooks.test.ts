/* biome-ignore-all lint/performance/useDomNodeTextContent: the tests compare the text that a reader sees. */
import type { Page } from "playwright-core";
import { Webhook } from "standardwebhooks";
import { describe, expect } from "vitest";
import { eventually } from "../support/eventually.ts";
import { Listener, type ReceivedRequest } from "../support/listener.ts";
import { newPage, signIn } from "../support/open-browser.ts";
import { it } from "./it.ts";
import { newShop } from "./new-shop.ts";
import { PAGES } from "./pages.ts";
import { SCRIPT_MODES } from "./script-modes.ts";
import { faultsOf, press, secretOn, status } from "./steps.ts";

/** The rows of the page's table after a reload. */
async function rowsNow(page: Page): Promise<string[]> {
  await page.reload();
  return page.locator("tbody tr").allInnerTexts();
}

/** The payload of a delivery as a receiver reads it. @throws when the secret does not verify it */
function verifyPayload({ headers, body }: ReceivedRequest, secret: string) {
  return new Webhook(secret).verify(body.toString(), headers as Record<string, string>) as {
    type: string;
    data: { chat_id?: number };
  };
}

/** Waits until the receiver has this many deliveries, and returns the last of them. */
async function delivery(receiver: Listener, count: number): Promise<ReceivedRequest> {
  await eventually(() => expect(receiver.received.length).toBeGreaterThanOrEqual(count));
  return receiver.received[count - 1] as ReceivedRequest;
}

describe.each(SCRIPT_MODES)("webhooks, %s", (_, javaScriptEnabled) => {
  it("an operator adds a webhook, pings it, sees a failure, rotates its secret, sends an event again and deletes the webhook", async ({
    worker,
    signedIn,
    onTestFinished,
  }) => {
    const receiver = await Listener.start();
    onTestFinished(() => receiver.close());
    const { site, createSession } = await newShop(worker);
    const page = await signedIn(worker, { javaScriptEnabled });
    const faults = faultsOf(page);

    await page.goto(site);
    await page.getByRole("link", { name: "Webhooks", exact: true }).click();
    await page.getByLabel("URL").fill(`${receiver.url}/hook`);
    await page.getByLabel("session.agents_added").uncheck();
    await press(page, "Add a webhook");
    const secret = await secretOn(page);
    await page.getByRole("link", { name: "I have saved it" }).click();

    await press(page, "Send a ping");
    // The page stands at the row of the ping, which shows the result.
    expect(await page.locator("tr:target").innerText()).toMatch(/^ping 1\s+(On its way|Delivered)/);
    expect(verifyPayload(await delivery(receiver, 1), secret).type).toBe("ping");
    // With script the page asks again by itself. Without it, the reader presses the link.
    const [row, link] = [page.locator("#event-1"), page.getByRole("link", { name: "Look again" })];
    await eventually(async () => {
      if (!javaScriptEnabled && (await link.isVisible())) await link.click();
      expect(await row.innerText()).toContain("Delivered");
    });
    expect(await link.count()).toBe(0);

    const chatId = await createSession();
    expect(verifyPayload(await delivery(receiver, 2), secret)).toMatchObject({
      type: "session.created",
      data: { chat_id: chatId },
    });
    await eventually(async () => expect(await rowsNow(page)).toHaveLength(2));
    expect(receiver.received).toHaveLength(2);
    await page.getByRole("link", { name: `Session ${chatId}` }).click();
    expect(new URL(page.url()).pathname).toBe(`${site}/sessions/${chatId}`);
    await page.goBack();

    receiver.answer = { status: 500, headers: {}, body: "<script>alert(1)</script>" };
    await createSession();
    await delivery(receiver, 3);
    await eventually(async () => expect((await rowsNow(page))[0]).toContain("The receiver answered 500"));
    expect(await page.locator(".health .badge").innerText()).toMatch(/^Failing for /);
    expect(await page.locator(".health q").innerText()).toBe("<script>alert(1)</script>");
    await page.locator("tbody a").first().click();
    expect(await page.locator("h1").innerText()).toBe("session.created, event 3");
    const sentBody = JSON.parse((await page.locator("#payload").innerText()) as string) as unknown;
    expect(sentBody).toEqual(JSON.parse((receiver.received[2] as ReceivedRequest).body.toString()));
    await page.goBack();

    await page.locator(".actions summary").click();
    await page.getByRole("link", { name: "Rotate the secret…" }).click();
    await page.getByLabel("Overlap").selectOption("3600");
    await press(page, "Rotate");
    const next = await secretOn(page);
    await page.getByRole("link", { name: "I have saved it" }).click();
    receiver.answer = { status: 200, headers: {}, body: "" };
    const before = receiver.received.length;
    await press(page, "Send again 3");
    // The attempt that was due after the failure may be running.
    expect(await page.locator("#event-3").innerText()).toMatch(/On its way|being sent now|Delivered/);
    await eventually(() => expect(receiver.received.length).toBeGreaterThan(before));
    const again = receiver.received.at(-1) as ReceivedRequest;
    for (const each of [secret, next]) expect(verifyPayload(again, each).type).toBe("session.created");
    expect(again.headers["webhook-id"]).toBe(receiver.received[2]?.headers["webhook-id"]);

    await page.getByRole("link", { name: "Send again…" }).click();
    await page.getByText("No event matches.").waitFor();
    await page.getByLabel("Time", { exact: true }).selectOption("own");
    await press(page, "Count");
    await page.getByText("Missed events need a time to begin with.").first().waitFor();
    expect(await page.getByLabel("Missed", { exact: true }).isChecked()).toBe(true);
    for (const label of ["Failed", "Pending", "Missed"]) await page.getByLabel(label, { exact: true }).uncheck();
    await page.getByLabel("Delivered", { exact: true }).check();
    await page.getByLabel("From", { exact: true }).fill("2026-01-01T00:00");
    await press(page, "Count");
    await page.getByText("2 events match: send them again?").waitFor();
    expect(await page.getByLabel("From", { exact: true }).inputValue()).toBe("2026-01-01T00:00");
    const sentCount = receiver.received.length;
    await press(page, "Send 2 events again");
    expect(await status(page)).toBe("Events sent again: 2. The deliveries below tell what comes of them.");
    await eventually(() => expect(receiver.received.length).toBe(sentCount + 2));
    const types = receiver.received.slice(sentCount).map((each) => verifyPayload(each, next).type);
    expect(types).toEqual(["session.created", "session.created"]);
    await page.getByRole("link", { name: "Delivered", exact: true }).click();
    await eventually(async () => expect(await rowsNow(page)).toHaveLength(3));

    await page.locator(".actions summary").click();
    await page.getByRole("link", { name: "Disable…" }).click();
    await press(page, "Disable");
    await page.getByRole("button", { name: "Enable", exact: true }).waitFor();
    expect(await page.getByRole("button", { name: "Send a ping" }).count()).toBe(0);
    await press(page, "Enable");
    await page.getByRole("link", { name: "Send what it missed…" }).click();
    await page.getByText("No event matches.").waitFor();
    await page.goBack();
    await page.locator(".actions summary").click();
    await page.getByRole("link", { name: "Delete…" }).click();
    await press(page, "Delete");
    expect(await status(page)).toBe("Deleted.");
    // This is the browser's message about the refused form.
    expect(faults).toEqual(["Failed to load resource: the server responded with a status of 400 (Bad Request)"]);
  });
});

it("on a phone, each delivery in the list of a webhook has its time, its answer and its button", async ({
  browser,
  world,
}) => {
  const page = await newPage(browser, world.worker, { viewport: { width: 390, height: 664 } });
  await signIn(page, world.worker.adminToken);
  const pages = PAGES.filter(({ name }) => ["webhook-failing", "webhook-hanging"].includes(name));
  for (const { at } of pages) {
    await page.goto(at(world));
    const rows = page.locator("tbody tr");
    expect(await rows.count()).toBeGreaterThan(10);
    for (const row of await rows.all()) {
      for (const part of ["time", ".pair", "button"]) expect(await row.locator(part).isVisible()).toBe(true);
      expect(await row.locator("button").boundingBox()).toMatchObject({ height: expect.closeTo(28, 0) });
    }
  }
  await page.context().close();
});
