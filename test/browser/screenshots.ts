/**
 * Makes the README's pictures: `npm run screenshots`. The clock stands still and the ids are fixed, so on one machine the same code makes
 * the same files, and a changed picture means a changed page. `npm run screenshots -- FOLDER --all` makes every page at both widths, in
 * both themes and in Chinese, for people to look at.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { AgentSessionClient } from "../../src/client/client.ts";
import { prepare, sign } from "../../src/client/sign.ts";
import { startBuiltWorker } from "../support/built-worker.ts";
import { DESKTOP, openBrowser, PHONE, signedInPage } from "../support/open-browser.ts";
import { seedWebhooks } from "../support/seed-webhooks.ts";
import { settled } from "../support/settled.ts";
import { SHOWN } from "./shown.ts";

const FOLDER = process.argv[2] ?? join(import.meta.dirname, "../../.github/screenshots");

const everything = process.argv.includes("--all");

const AGENTS = [
  { id: 10411, name: "Amara Okafor" },
  { id: 10427, name: "Jonas Lindqvist" },
  { id: 10428, name: "林晓雯" },
  { id: 10436, name: "Priya Raman" },
];

const SESSIONS = [
  [
    "customer_001",
    "Mei Tanaka",
    "The parcel says delivered, but nothing is here. Could you check with the courier?",
    "Parcel not received",
    1,
  ],
  [
    "customer_002",
    "Luca Moretti",
    "Your refund of €48.20 was sent today and arrives in two to three working days.",
    "Refund for order 20418",
    2,
  ],
  ["customer_003", "周明", "您好，我的订单一直显示处理中，请帮忙看一下。订单号 20433。", "订单处理中", 1],
  [
    "customer_001",
    "Mei Tanaka",
    "Address changed at the customer's request: 4-2-8 Shibakoen, Minato-ku.",
    "Address change",
    3,
  ],
  [
    "customer_004",
    "Nadia Haddad",
    "The invoice for October has the wrong VAT number. Can it be issued again?\n\nOurs is DE 811 907 980.",
    "Invoice 2026-10-0931",
    1,
  ],
  [
    "customer_005",
    "Tom Becker",
    "We have replaced the charger free of charge; the tracking number follows by mail.",
    "Charger does not charge",
    2,
  ],
] as const;

// Without such a font the pictures would show boxes in place of Chinese characters.
const fonts = spawnSync("fc-list", [":lang=zh"], { encoding: "utf8" });
if (fonts.error === undefined && fonts.stdout.trim() === "") {
  console.error(
    "There is no font with Chinese. The pictures in the repository are made with Debian's fonts-wqy-zenhei.",
  );
  process.exit(1);
}

const worker = await startBuiltWorker({
  homes: everything ? ["DB", "HOME_APAC"] : ["DB"],
  main: "test/browser/worker-for-pictures.ts",
});
const browser = await openBrowser();
try {
  const { siteId, app } = await seed();
  const webhooks = everything ? await seedWebhooks(worker, siteId) : [];
  const erasure = everything ? await eraseSomebody(siteId, app) : "";
  await mkdir(FOLDER, { recursive: true });
  const site = `/console/sites/${siteId}`;
  const latest = (await worker.admin<{ items: { chat_id: number }[] }>("GET", `/admin/sites/${siteId}/sessions`)).items;
  const talk = `${site}/sessions/${latest[1]?.chat_id}`;
  const pages: [string, (page: Page) => Promise<unknown>][] = [
    ["site", (page) => page.goto(site)],
    ["session", (page) => page.goto(talk)],
    ["signature-check", (page) => checkSignature(page, app)],
  ];
  if (everything) {
    pages.push(
      ["sites", (page) => page.goto("/console")],
      ["new-site", (page) => unfoldAll(page, "/console")],
      ["homes", (page) => page.goto("/console/homes")],
      ["restored", (page) => page.goto("/console/homes/apac/restored")],
      ["lift", (page) => page.goto("/console/homes/apac/restored?lift=1000000")],
      ["settled", (page) => reconcile(page)],
      ["settings", (page) => page.goto(`${site}/settings`)],
      ["close", (page) => page.goto(`${site}/close`)],
      ["closed", (page) => page.goto(`/console/sites/${siteId + 1}`)],
      ["closed-settings", (page) => page.goto(`/console/sites/${siteId + 1}/settings`)],
      ["unfinished", (page) => page.goto(`/console/sites/${siteId + 2}`)],
      ["all-audit", (page) => page.goto("/console/audit")],
      ["sessions", (page) => page.goto(`${site}/sessions`)],
      ["customers", (page) => page.goto(`${site}/customers?chat_id=${latest[1]?.chat_id}`)],
      ["customer-unknown", (page) => askToErase(page, `${site}/customers`, "nobody")],
      ["customer-erase", (page) => askToErase(page, `${site}/customers`, "customer_001")],
      ["customer-erased", (page) => page.goto(`${site}/customers/erasures/${erasure}`)],
      ["apps", (page) => page.goto(`${site}/apps`)],
      ["app", (page) => page.goto(`${site}/apps/${app.appid}`)],
      ["rotate", (page) => page.goto(`${site}/apps/${app.appid}/rotate?overlap_seconds=0`)],
      ["gone", (page) => page.goto(`${site}/apps/${app.appid}/secret`)],
      ["revoke", (page) => page.goto(`${site}/apps/${app.appid}/revoke`)],
      ["agents", (page) => page.goto(`${site}/agents`)],
      ["bad-agent", (page) => addAgent(page, `${site}/agents`)],
      ["bad-agents", (page) => pasteAgents(page, `${site}/agents`)],
      ["audit", (page) => page.goto(`${site}/audit`)],
      ["no-webhooks", (page) => page.goto(`/console/sites/${siteId + 1}/webhooks`)],
      ["webhooks", (page) => page.goto(`${site}/webhooks`)],
      ["bad-webhook", (page) => addWebhook(page, `${site}/webhooks`)],
      ["webhook", (page) => page.goto(`${site}/webhooks/${webhooks[0]}`)],
      ["webhook-change", (page) => unfoldAll(page, `${site}/webhooks/${webhooks[0]}`)],
      ["webhook-gone", (page) => page.goto(`${site}/webhooks/${webhooks[1]}`)],
      ["webhook-disable", (page) => page.goto(`${site}/webhooks/${webhooks[0]}/disable`)],
      ["webhook-delete", (page) => page.goto(`${site}/webhooks/${webhooks[0]}/delete`)],
      ["webhook-rotate", (page) => page.goto(`${site}/webhooks/${webhooks[0]}/rotate?overlap_seconds=0`)],
      ["webhook-secret", (page) => rotate(page, `${site}/webhooks/${webhooks[0]}`)],
      ["access", (page) => page.goto("/console/access")],
      ["tokens", (page) => page.goto("/console/tokens")],
      ["new-token", (page) => unfoldAll(page, "/console/tokens")],
      ["made-token", (page) => makeToken(page)],
      ["token-delete", (page) => deleteToken(page)],
      ["not-found", (page) => page.goto("/console/nowhere")],
      ["secret", (page) => rotate(page, `${site}/apps/${app.appid}`)],
    );
  }
  const phone = { viewport: PHONE, deviceScaleFactor: 2 };
  await shoot("light", everything ? pages : pages.filter(([name]) => name !== "session"), { colorScheme: "light" });
  await shoot("dark", everything ? pages : pages.filter(([name]) => name !== "session"), { colorScheme: "dark" });
  await shoot("phone", everything ? pages : pages.filter(([name]) => name === "session"), phone);
  if (everything) {
    await shoot("phone-dark", pages, { ...phone, colorScheme: "dark" });
    await shoot("chinese", pages, { locale: "zh-CN" });
    const door = await browser.newPage({ baseURL: worker.url, viewport: DESKTOP });
    await door.goto("/console");
    await door.screenshot({ path: join(FOLDER, "sign-in.png") });
  }
} finally {
  await browser.close();
  await worker.close();
}

async function shoot(
  theme: string,
  pages: [string, (page: Page) => Promise<unknown>][],
  options: NonNullable<Parameters<typeof signedInPage>[2]>,
): Promise<void> {
  const page = await signedInPage(browser, worker, { timezoneId: "UTC", ...options });
  await page.clock.setFixedTime(SHOWN * 1000);
  for (const [name, open] of pages) {
    await open(page);
    await settled(page);
    await page.screenshot({ path: join(FOLDER, `${name}-${theme}.png`), fullPage: everything });
  }
  await page.context().close();
}

/** One site is open in main; with `--all`, one is closed and one unfinished in apac. */
async function seed() {
  const site = await worker.admin<{ id: number }>("POST", "/admin/sites", { name: "Northwind Store" });
  const outlet = { name: "Southwind Outlet", home: everything ? "apac" : "main" };
  const other = await worker.admin<{ id: number }>("POST", "/admin/sites", outlet);
  if (everything) {
    await worker.admin("PATCH", `/admin/sites/${other.id}`, { status: "closed" });
    await worker.env.DB?.exec(
      "INSERT INTO sites (name, home, first_chat_id, status, revision, created_at) VALUES ('Eastwind', 'apac', 1, 'creating', 0, 1800000000)",
    );
  }
  for (const agent of AGENTS) await worker.admin("POST", `/admin/sites/${site.id}/agents`, agent);
  await worker.admin("PATCH", `/admin/sites/${site.id}/agents/10436`, { status: "disabled" });
  const issue = (name: string) => {
    const appid = idOf(name);
    const app = { name, appid, secret: `secret of ${appid}, for pictures only` };
    return worker.admin<{ appid: string; secret: string }>("POST", `/admin/sites/${site.id}/apps`, app);
  };
  const app = await issue("Shop back end");
  if (everything) {
    await worker.admin("POST", "/admin/tokens", { name: "Billing of the shop", role: "viewer", site_id: site.id });
    await worker.admin("POST", "/admin/tokens", { name: "Deployments", role: "owner", expires_in_days: 90 });
  }
  const old = await issue("Warehouse");
  await worker.admin("DELETE", `/admin/apps/${(await issue("Old CRM")).appid}`);
  await worker.admin("POST", `/admin/apps/${old.appid}/rotate`, { overlap_seconds: 86_400 });
  const client = new AgentSessionClient({ baseUrl: worker.url, ...app });
  for (const [index, [sbs, sbs_mc, content, title, sender_type]] of SESSIONS.entries()) {
    const kefu_id = [10411, 10427, 10428].slice(index % 2);
    const { envelope } = await client.send("create_gd", {
      ...{ timestamp: SHOWN, sbs, sbs_mc, ip: `203.0.113.${10 + index}` },
      ...{ content, title, sender_type, kefu_id, fzr_uid: kefu_id[0] },
    });
    if (envelope.code !== 1) throw new Error(`session ${index + 1} was refused: ${envelope.msg}`);
  }
  return { siteId: site.id, app };
}

/** 32 hex digits, like the service's ids, but the same ones on each run. */
function idOf(name: string): string {
  return createHash("sha256").update(name).digest("hex").slice(0, 32);
}

/** Erases a customer who is on no other picture. @returns the id of the erasure */
async function eraseSomebody(siteId: number, app: { appid: string; secret: string }): Promise<string> {
  const sbs = "customer_900";
  const client = new AgentSessionClient({ baseUrl: worker.url, ...app });
  const fields = { timestamp: SHOWN, sbs, sbs_mc: "Erased", ip: "203.0.113.90", content: "Please erase my data." };
  await client.send("create_gd", { ...fields, kefu_id: [10411], fzr_uid: 10411 });
  const path = `/admin/sites/${siteId}/customers/erase`;
  return (await worker.admin<{ erasure_id: string }>("POST", path, { sbs })).erasure_id;
}

/** Leads to the question, or back to the form when there is no such customer. */
async function askToErase(page: Page, path: string, sbs: string): Promise<void> {
  await page.goto(path);
  await page.locator("input[name=sbs]").fill(sbs);
  await page.locator("button.danger").click();
  await page.locator("button.danger").waitFor();
}

/** Tries to add a webhook whose URL must not be posted to, without any event. */
async function addWebhook(page: Page, path: string): Promise<void> {
  await page.goto(path);
  await page.locator("details.fold > summary").click();
  await page.locator("input[name=url]").fill("https://127.0.0.1/hook");
  await page.locator("form:has(input[name=url]) button").click();
  await page.locator(".notice.bad").waitFor();
}

async function unfoldAll(page: Page, path: string): Promise<void> {
  await page.goto(path);
  for (const summary of await page.locator("summary").all()) await summary.click();
}

/** Reconciles a home that has lost an app, so that the page has an app to look at. */
async function reconcile(page: Page): Promise<void> {
  await worker.env.DB?.exec("INSERT OR IGNORE INTO app_routes (appid, site_id) VALUES ('lost-by-the-restore', 2)");
  await page.goto("/console/homes/apac/restored?lift=1000000");
  await page.locator("main form button").click();
}

async function makeToken(page: Page): Promise<void> {
  await unfoldAll(page, "/console/tokens");
  await page.locator("input[name=name]").fill("Nightly export");
  await page.locator("main form button").click();
  await page.locator("#token").waitFor();
}

async function deleteToken(page: Page): Promise<void> {
  await page.goto("/console/tokens");
  await page.locator("td .danger").first().click();
  await page.locator("main form button").waitFor();
}

/** A request whose caller signed sorted keys and sent them in another order. */
async function checkSignature(page: Page, app: { appid: string; secret: string }): Promise<void> {
  const fields = {
    timestamp: SHOWN,
    ranstr: "c0ffee00-24a4-48e7-8f1f-635428d64c0d",
    sbs: "customer_001",
    kefu_id: [10411, 10427],
    fzr_uid: 10411,
    ip: "127.0.0.1",
    sbs_mc: "客户",
    content: "Initial message",
  };
  const { body } = await prepare(app, fields);
  const sorted = Object.fromEntries(Object.entries(JSON.parse(body)).sort(([a], [b]) => (a < b ? -1 : 1)));
  await page.goto("/console/signature-check?operation=create_gd");
  await page.locator("textarea[name=body]").fill(body);
  await page.locator("input[name=signature]").fill(await sign(app.secret, JSON.stringify(sorted)));
  await page.locator("main button").click();
  await page.locator(".verdict").waitFor();
}

async function pasteAgents(page: Page, path: string): Promise<void> {
  await page.goto(path);
  await page.locator("details.fold > summary").click();
  await page
    .locator("textarea[name=list]")
    .fill("10501, Ana Souza\nten, Ben\n10411, Amara again\n10501, Ana once more");
  await page.locator("form:has(textarea) button").click();
  await page.locator(".notice.bad").waitFor();
}

async function addAgent(page: Page, path: string): Promise<void> {
  await page.goto(path);
  await page.locator("details.fold > summary").click();
  await page.locator("main input[name=id]").fill("10411");
  await page.locator("input[name=name]").fill("Amara again");
  await page.locator("main form:has(input[name=id]) button").click();
  await page.locator(".notice.bad").waitFor();
}

async function rotate(page: Page, path: string): Promise<void> {
  await unfoldAll(page, path);
  const choice = page.locator("select[name=ends]");
  if ((await choice.count()) > 0) await choice.selectOption("previous");
  await page.locator("form[action$=rotate] button").click();
  await page.waitForURL(/\/(rotate|secret)\?/);
  // Each run rotates once more, so from the second rotation on the page asks for a confirmation.
  if ((await page.locator("#secret").count()) === 0) await page.locator("main button.danger").click();
  await page.locator("#secret").waitFor();
}
