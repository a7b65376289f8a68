/* biome-ignore-all lint/performance/useDomNodeTextContent: the tests compare the text that a reader sees. */
import type { Browser, Page } from "playwright-core";
import { Webhook } from "standardwebhooks";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { AgentSessionClient } from "../../src/client/client.ts";
import { type BuiltWorker, startBuiltWorker } from "../support/built-worker.ts";
import { Listener, type Received } from "../support/listener.ts";
import { openBrowser, PHONE, signedInPage } from "../support/open-browser.ts";
import { seedWebhooks } from "../support/seed-webhooks.ts";
import { violations } from "../support/violations.ts";

let worker: BuiltWorker;
let browser: Browser;

beforeAll(async () => {
  [worker, browser] = await Promise.all([startBuiltWorker({ vars: { WEBHOOK_LOOPBACK: "allow" } }), openBrowser()]);
});

afterEach(async () => {
  for (const context of browser.contexts()) await context.close();
});

afterAll(async () => {
  await browser?.close();
  await worker?.close();
});

const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();
const status = (page: Page) => page.getByRole("status").first().innerText();
const secretOn = (page: Page) => page.locator("#secret").innerText();

/** The rows of the page's table at this moment. */
async function rowsNow(page: Page): Promise<string[]> {
  await page.reload();
  return page.locator("tbody tr").allInnerTexts();
}

/** The payload of a delivery as a receiver reads it; throws when the secret does not verify it. */
function verified({ headers, body }: Received, secret: string) {
  return new Webhook(secret).verify(body.toString(), headers as Record<string, string>) as {
    type: string;
    data: { chat_id?: number };
  };
}

/** The last delivery, once the receiver has this many. */
async function lastOf(receiver: Listener, count: number): Promise<Received> {
  await expect.poll(() => receiver.received.length, { timeout: 20_000 }).toBe(count);
  return receiver.received[count - 1] as Received;
}

describe.each([
  ["with script", true],
  ["without script", false],
])("an operator's walk along a webhook, %s", (_, javaScriptEnabled) => {
  it("goes from adding it over a ping, a session, a failure, a rotation and a redelivery to deleting it", async () => {
    const receiver = await Listener.start();
    const { siteId, ...app } = await worker.provision();
    const client = new AgentSessionClient({ baseUrl: worker.url, ...app });
    const session = { customer: { id: "1", name: "Mei", ip: "127.0.0.1" }, content: "Hello", title: "Hello" };
    const call = () => client.createSession({ ...session, agentIds: [10411], responsibleAgentId: 10411 });
    const page = await signedInPage(browser, worker, { javaScriptEnabled });
    const faults: string[] = [];
    page.on("console", (message) => message.type() === "error" && faults.push(message.text()));

    await page.goto(`/console/sites/${siteId}`);
    await page.getByRole("link", { name: "Webhooks", exact: true }).click();
    await page.getByLabel("URL").fill(`${receiver.url}/hook`);
    await page.getByLabel("session.agents_added").uncheck();
    await press(page, "Add a webhook");
    const secret = await secretOn(page);
    await page.getByRole("link", { name: "I have saved it" }).click();

    await press(page, "Send a ping");
    // The row of the ping says what comes of it, and the page stands there.
    expect(await page.locator("tr:target").innerText()).toMatch(/^ping 1\s+(On its way|Delivered)/);
    expect(verified(await lastOf(receiver, 1), secret).type).toBe("ping");

    const { chatId } = await call();
    expect(verified(await lastOf(receiver, 2), secret)).toMatchObject({
      type: "session.created",
      data: { chat_id: chatId },
    });
    await expect.poll(async () => (await rowsNow(page)).length).toBe(2);
    await page.getByRole("link", { name: `Session ${chatId}` }).click();
    expect(new URL(page.url()).pathname).toBe(`/console/sites/${siteId}/sessions/${chatId}`);
    await page.goBack();

    receiver.answer = { status: 500, headers: {}, body: "<script>alert(1)</script>" };
    await call();
    await lastOf(receiver, 3);
    await expect.poll(async () => (await rowsNow(page))[0]).toContain("The receiver answered 500");
    expect(await page.locator(".health .badge").innerText()).toMatch(/^Failing for /);
    expect(await page.locator(".health q").innerText()).toBe("<script>alert(1)</script>");
    await page.locator("tbody a").first().click();
    expect(await page.locator("h1").innerText()).toBe("session.created, event 3");
    const sentBody = JSON.parse((await page.locator("#payload").innerText()) as string) as unknown;
    expect(sentBody).toEqual(JSON.parse((receiver.received[2] as Received).body.toString()));
    await page.goBack();

    await page.locator(".actions summary").click();
    await page.getByRole("link", { name: "Rotate the secret…" }).click();
    await page.getByLabel("Overlap").selectOption("3600");
    await press(page, "Rotate");
    const next = await secretOn(page);
    await page.getByRole("link", { name: "I have saved it" }).click();
    receiver.answer = { status: 200, headers: {}, body: "" };
    const before = receiver.received.length;
    await press(page, "Redeliver 3");
    expect(await page.locator("#event-3").innerText()).toMatch(/On its way|Delivered/);
    await expect.poll(() => receiver.received.length, { timeout: 20_000 }).toBeGreaterThan(before);
    const again = receiver.received.at(-1) as Received;
    for (const each of [secret, next]) expect(verified(again, each).type).toBe("session.created");
    expect(again.headers["webhook-id"]).toBe(receiver.received[2]?.headers["webhook-id"]);

    await page.getByRole("link", { name: "Send again…" }).click();
    await page.getByText("No event matches.").waitFor();
    await page.getByLabel("Times of your own").check();
    await press(page, "Count");
    await page.getByText("Missed events need a time to begin with.").first().waitFor();
    expect(await page.getByLabel("Missed", { exact: true }).isChecked()).toBe(true);
    for (const label of ["Failed", "Pending", "Missed"]) await page.getByLabel(label, { exact: true }).uncheck();
    await page.getByLabel("Delivered", { exact: true }).check();
    await page.getByLabel("From", { exact: true }).fill("2026-01-01T00:00");
    await press(page, "Count");
    await page.getByText("2 events match: send them again?").waitFor();
    expect(await page.getByLabel("From", { exact: true }).inputValue()).toBe("2026-01-01T00:00");
    const sent = receiver.received.length;
    await press(page, "Send 2 events again");
    expect(await status(page)).toBe("Events sent again: 2. The deliveries below tell what comes of them.");
    await expect.poll(() => receiver.received.length, { timeout: 20_000 }).toBe(sent + 2);
    const types = receiver.received.slice(sent).map((each) => verified(each, next).type);
    expect(types).toEqual(["session.created", "session.created"]);
    await page.getByRole("link", { name: "Delivered", exact: true }).click();
    await expect.poll(async () => (await rowsNow(page)).length).toBe(3);

    await page.locator(".actions summary").click();
    await page.getByRole("link", { name: "Disable…" }).click();
    await press(page, "Disable");
    expect(await page.getByRole("button", { name: "Send a ping" }).count()).toBe(0);
    await press(page, "Enable");
    await page.getByRole("link", { name: "Send what it missed…" }).click();
    await page.getByText("No event matches.").waitFor();
    await page.goBack();
    await page.locator(".actions summary").click();
    await page.getByRole("link", { name: "Delete…" }).click();
    await press(page, "Delete");
    expect(await status(page)).toBe("Deleted.");
    // The browser logs the refused form.
    expect(faults).toEqual(["Failed to load resource: the server responded with a status of 400 (Bad Request)"]);
    await receiver.close();
  });
});

describe("the pages of webhooks", () => {
  /** The paths of all pages of webhooks. */
  async function provision() {
    const { siteId } = await worker.provision();
    const site = `/console/sites/${siteId}`;
    const ids = await seedWebhooks(worker, siteId);
    const [one] = ids.map((id) => `${site}/webhooks/${id}`);
    return [
      `${site}/webhooks`,
      "/console",
      site,
      ...ids.map((id) => `${site}/webhooks/${id}`),
      ...["settings", "send-again", "send-again?time=day&delivered=on", "deliveries/2", "deliveries/4"].map(
        (end) => `${one}/${end}`,
      ),
      ...["disable", "delete", "rotate?overlap_seconds=0", "secret"].map((end) => `${one}/${end}`),
      `${site}/settings`,
      `${site}/audit`,
    ];
  }

  const unfold = async (page: Page) => {
    // On a wide window the filter of a list stands open, and its button is hidden. An open menu covers what is below it.
    for (const summary of await page.locator("details:not(.menu) > summary:visible").all()) await summary.click();
  };

  it("fit into the window, however long a URL and an error are", async () => {
    const paths = await provision();
    const windows = { "en-GB": [1280, 900, 700, 320], "zh-CN": [900, 320] };
    for (const [locale, widths] of Object.entries(windows)) {
      const page = await signedInPage(browser, worker, { locale });
      for (const width of widths) {
        await page.setViewportSize({ width, height: 800 });
        for (const path of paths) {
          await page.goto(path);
          await unfold(page);
          const beyond = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
          expect([locale, width, path, await page.evaluate(beyond)]).toEqual([locale, width, path, 0]);
        }
      }
    }
  });

  it.each([
    ["light", { colorScheme: "light" }],
    ["dark", { colorScheme: "dark" }],
    ["on a phone", { viewport: PHONE }],
    ["Chinese", { locale: "zh-CN" }],
  ] as const)("have no accessibility violation: %s", async (_, options) => {
    const paths = await provision();
    const page = await signedInPage(browser, worker, { ...options, bypassCSP: true } as never);
    for (const path of paths) {
      await page.goto(path);
      await unfold(page);
      expect([path, await violations(page)]).toEqual([path, []]);
    }
    await page.goto(paths[0] ?? "");
    await unfold(page);
    await page.locator("input[name=url]").fill("https://127.0.0.1:1/");
    for (const box of await page.locator("input[type=checkbox]").all()) await box.uncheck();
    await page.locator("form:has(input[name=url]) button").click();
    await page.locator(".notice.bad").waitFor();
    expect(["a fault", await violations(page)]).toEqual(["a fault", []]);
    await page.goto(`${paths[3]}/send-again?time=own&missed=on`);
    await page.locator("#since-error").waitFor();
    expect(["missed", await violations(page)]).toEqual(["missed", []]);
  });
});
