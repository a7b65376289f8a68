import type { Page } from "playwright-core";
import { prepare, sign } from "../../src/client/sign.ts";
import { Receiver } from "../support/receiver.ts";
import { customerOf, OF_NOTE } from "./big-world/sessions.ts";
import type { BigWorld } from "./big-world.ts";
import { SHOWN } from "./shown-time.ts";
import { unfoldAll } from "./steps.ts";

/** A page that only a sent form leads to. Opening it a second time shows the same. */
export interface PostedPage {
  name: string;
  open: (page: Page, world: BigWorld) => Promise<unknown>;
}

/** Opens a page, fills in and sends its form, and waits for the result. */
function postedPage(
  name: string,
  path: (world: BigWorld) => string,
  { form, fields = {}, until }: { form: string; fields?: Record<string, string>; until: string },
): PostedPage {
  return {
    name,
    async open(page, world) {
      await page.goto(path(world));
      await unfoldAll(page);
      const place = page.locator(form).first();
      for (const [field, value] of Object.entries(fields)) await place.locator(`[name=${field}]`).fill(value);
      await place.locator("button:not(.menu *)").first().click();
      await page.locator(until).first().waitFor();
    },
  };
}

const busy = (path: string) => (world: BigWorld) => world.sites.busy + path;
const FAULT = ".notice.bad";

/** The result of a search from a page of the busy site. */
const searchResult = (name: string, q: string): PostedPage =>
  postedPage(name, busy("/apps"), { form: "header search form", fields: { q }, until: "details.far" });

/** Refused forms, questions, and pages that are shown once. */
export const POSTED_PAGES: readonly PostedPage[] = [
  {
    name: "sites-new",
    async open(page) {
      await page.goto("/console");
      await unfoldAll(page);
    },
  },
  {
    name: "audit-more",
    async open(page) {
      await page.goto("/console/audit?action=agent.renamed");
      await page.locator("tbody .menu summary").nth(1).click();
    },
  },
  searchResult("search-words", "order"),
  searchResult("search-customer", customerOf(7)),
  searchResult("search-number", "10402"),
  searchResult("search-nothing", "01a203b5-dd20-79af-b8dc-09fd95d48bec"),
  postedPage("agents-pasted-bad", busy("/agents"), {
    form: "form:has(textarea)",
    fields: { lines: "10901, Ana Souza\nten, Ben\n10411, Amara again\n10901, Ana once more" },
    until: FAULT,
  }),
  postedPage("agents-taken", busy("/agents"), {
    form: "main form:has(input[name=id])",
    fields: { id: "10411", name: "Amara again" },
    until: FAULT,
  }),
  postedPage("webhook-bad", busy("/webhooks"), {
    form: "form:has(input[name=url])",
    fields: { url: "https://10.0.0.1/hook" },
    until: FAULT,
  }),
  postedPage("customer-unknown", busy("/customers"), {
    form: "main form:has(input[name=sbs])",
    fields: { sbs: "nobody" },
    until: FAULT,
  }),
  {
    name: "customers-found",
    async open(page, { sites }) {
      await page.goto(`${sites.busy}/customers`);
      await page.locator("input[name=sbs]").fill("mei");
      await page.locator("main form:has(input[name=sbs]) button").first().click();
      await page.waitForURL(/\?text=/);
    },
  },
  {
    name: "customer-erase",
    async open(page, world) {
      await page.goto(`${world.sites.busy}/customers?chat_id=${OF_NOTE.metadata}`);
      await page.locator("button.danger").click();
      await page.locator("form input[type=checkbox]").waitFor();
    },
  },
  {
    name: "token-made",
    async open(page) {
      await page.goto("/console/tokens");
      await unfoldAll(page);
      await page.locator("input[name=name]").fill("Nightly export");
      await page.locator("main form:has(input[name=name]) button").click();
      await page.locator("#token").waitFor();
    },
  },
  {
    name: "person-let-in",
    async open(page) {
      await page.goto("/console/people");
      await unfoldAll(page);
      await page.locator("input[name=who]").fill("Nadia");
      await page.locator("main form:has(input[name=who]) button").click();
      await page.locator("#token").waitFor();
    },
  },
  postedPage("person-bad", () => "/console/people", {
    form: "main form:has(input[name=who])",
    fields: { who: "r00t", expires_in_days: "0" },
    until: FAULT,
  }),
  {
    name: "agent-disabled",
    async open(page, { sites }) {
      await page.goto(`${sites.busy}/agents?q=10402`);
      await page.locator("details.menu summary").click();
      await page.locator("details.menu form button").click();
      await page.locator(".notice.done").waitFor();
    },
  },
  {
    name: "app-tested",
    async open(page, { sites, apps }) {
      await page.goto(`${sites.busy}/apps/${apps.shop}/test`);
      await page.locator("main form button").click();
      await page.waitForURL(/\/test\/result\?/);
    },
  },
  {
    name: "home-open",
    async open(page) {
      await page.goto("/console/homes/apac/restored?lift=1000");
      await page.locator("main form button").click();
      await page.waitForURL(/\/restored$/);
    },
  },
  { name: "signature-checked", open: checkSignature },
  postedPage("signature-near-appid", () => "/console/signature-check?operation=create_gd", {
    form: "main form:has(textarea)",
    fields: { body: `{"appid":"A6E7CAC56146A48895C63100AE574876"}` },
    until: ".verdict",
  }),
  { name: "webhook-drilled", open: (page, world) => drill(page, world, [204, 204, 400, 400, 400, 204]) },
  { name: "webhook-drilled-bad", open: (page, world) => drill(page, world, [204, 409, 204, 204, 204, 400]) },
  { name: "app-secret", open: (page, { sites, apps }) => rotate(page, `${sites.busy}/apps/${apps.till.appid}`) },
  {
    name: "webhook-secret",
    open: (page, { sites, webhooks }) => rotate(page, `${sites.busy}/webhooks/${webhooks.paused}/settings`),
  },
  {
    // This page comes last, because it signs out.
    name: "sign-in",
    async open(page) {
      await page.goto("/console");
      await page.locator("form[action$=sign-out] button").click();
      await page.locator("input[name=token]").waitFor();
    },
  },
];

/** Drills a webhook whose receiver answers these statuses, one after the other. */
async function drill(page: Page, { db, sites, webhooks }: BigWorld, statuses: number[]): Promise<void> {
  const { healthy } = webhooks;
  const receiver = await Receiver.start();
  receiver.answer = (response) => response.writeHead(statuses.shift() ?? 500).end();
  const setUrl = (url: string) => db.prepare("UPDATE webhooks SET url = ? WHERE id = ?").bind(url, healthy).run();
  const url = await db.prepare("SELECT url FROM webhooks WHERE id = ?").bind(healthy).first<string>("url");
  // This world's clock stands still, so any further drill would come too early.
  await db.prepare("DELETE FROM audit_log WHERE action = 'webhook.drilled'").run();
  try {
    await setUrl(receiver.url);
    await page.goto(`${sites.busy}/webhooks/${healthy}`);
    await page.locator("form[action$=drill] button").click();
    await page.locator("#drill").waitFor();
  } finally {
    await receiver.close();
    await setUrl(url ?? "");
  }
  await page.reload();
}

/** Checks a request whose caller signed sorted keys but sent them in another order. */
export async function checkSignature(
  page: Page,
  { apps: { active } }: { apps: { active: { appid: string; secret: string }[] } },
): Promise<void> {
  const [app = { appid: "", secret: "" }] = active;
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
  await page.locator("main form:has(textarea) button").first().click();
  await page.locator(".verdict").waitFor();
}

async function rotate(page: Page, path: string): Promise<void> {
  await page.goto(path);
  await unfoldAll(page);
  const choice = page.locator("select[name=ends]");
  if ((await choice.count()) > 0) await choice.selectOption("previous");
  await page.locator("form[action$=rotate] button").click();
  await page.waitForURL(/\/(rotate|secret)\?/);
  // Each run rotates once more, so the page asks for a confirmation from the second rotation on.
  if ((await page.locator("#secret").count()) === 0) await page.locator("main button.danger").click();
  await page.locator("#secret").waitFor();
}
