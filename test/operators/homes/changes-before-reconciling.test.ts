import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { call } from "../../support/admin-calls.ts";
import { closedHomeVars } from "../../support/closed-home-vars.ts";
import { newWebhook } from "../../support/new-webhook.ts";
import { bookmarkDatabase } from "../../support/time-travel.ts";
import { World } from "../../support/world.ts";

/** Operators change sites of a restored home before they reconcile it. A change that was answered 200 stays. */

const SKIPPED = 1_000_000;

type Change = { name?: string; status?: string; first_chat_id?: number; events?: boolean };

/** The site as the directory has it and as its home has it. */
async function both({ siteId }: World) {
  const siteRow = await env.DB.prepare("SELECT name, status, revision, first_chat_id FROM sites WHERE id = ?")
    .bind(siteId)
    .first<{ name: string; status: string; revision: number; first_chat_id: number }>();
  const row = await env.HOME_APAC.prepare(
    "SELECT name, status, revision, chat_id_floor, events FROM home_sites WHERE site_id = ?",
  )
    .bind(siteId)
    .first<{ name: string; status: string; revision: number; chat_id_floor: number; events: number }>();
  if (siteRow === null || row === null) throw new Error("the site is not there");
  const { name, status, revision } = siteRow;
  expect(row).toMatchObject({ name, status, revision });
  return { name, status, floor: row.chat_id_floor, events: row.events };
}

async function change(world: World, body: Change) {
  const answer = await call(world, "PATCH", `/admin/sites/${world.siteId}`, body);
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  return answer.body as Change;
}

/** A site that was changed after the restore point of its home, and an isolate that treats the home as closed. */
async function restoreSite(...lostChanges: Change[]) {
  const world = await World.create({}, "apac");
  await world.chatId();
  const travelBack = await bookmarkDatabase(env.HOME_APAC);
  for (const each of lostChanges) await change(world, each);
  await travelBack();
  const shut = world.anotherIsolate(closedHomeVars("apac"));
  const reconcile = async () => {
    expect((await call(shut, "POST", "/admin/homes/apac/restored", {})).status).toBe(200);
    return both(world);
  };
  return { world, shut, reconcile };
}

async function auditOf({ siteId }: World) {
  const { results } = await env.HOME_APAC.prepare(
    "SELECT action, details FROM audit_log WHERE site_id = ? AND action LIKE 'site.%' ORDER BY id",
  )
    .bind(siteId)
    .all<{ action: string; details: string }>();
  return results.slice(1).map(({ action, details }) => [action, JSON.parse(details)]);
}

describe("a change of a site between the restore of its home and its reconciliation", () => {
  it("an appid cannot be released between the restore of a home and its reconciliation", async () => {
    const { world, reconcile } = await restoreSite({ status: "closed" });
    const appid = crypto.randomUUID();
    await env.DB.prepare("INSERT INTO app_routes (appid, site_id) VALUES (?, ?)").bind(appid, world.siteId).run();
    for (let i = 0; i < 3; i++) {
      const { status, body } = await call(world, "DELETE", `/admin/apps/${appid}`);
      expect([status, body]).toEqual([
        409,
        expect.objectContaining({ detail: expect.stringContaining("POST /admin/homes/apac/restored") }),
      ]);
    }
    expect(await reconcile()).toMatchObject({ status: "closed" });
    expect((await call(world, "DELETE", `/admin/apps/${appid}`)).status).toBe(204);
  });

  const CLOSED: Change = { status: "closed", name: "Known" };

  it.each<[string, Change[], Change, { name: string; status: string }]>([
    ["a rename", [CLOSED], { name: "New" }, { name: "New", status: "closed" }],
    ["an opening", [CLOSED], { status: "open" }, { name: "Known", status: "open" }],
    [
      "a closing",
      [{ name: "Known" }, { name: "Known 2" }],
      { status: "closed" },
      { name: "Known 2", status: "closed" },
    ],
    ["turning events on", [CLOSED], { events: true }, { name: "Known", status: "closed" }],
    ["no change of values", [CLOSED], { name: "Site" }, { name: "Site", status: "closed" }],
  ])(
    "a site change between restore and reconciliation stays, and the directory gives the other fields: %s",
    async (_, lostChanges, input, expected) => {
      const { world, shut, reconcile } = await restoreSite(...lostChanges);
      expect(await change(shut, input)).toMatchObject(expected);
      expect(await both(world)).toMatchObject(expected);
      expect(await reconcile()).toMatchObject({
        ...expected,
        floor: 1 + SKIPPED,
        events: Number(input.events ?? false),
      });
    },
  );

  it("a site change between restore and reconciliation stays when another change follows it", async () => {
    const { shut, reconcile } = await restoreSite({ name: "1" }, { name: "2" }, CLOSED, { first_chat_id: 500 });
    await change(shut, { name: "New" });
    await change(shut, { status: "open", events: true });
    await change(shut, { events: false });
    expect(await reconcile()).toEqual({ name: "New", status: "open", events: 0, floor: 499 + SKIPPED });
  });

  it("between restore and reconciliation no first_chat_id can be set below the one in the directory", async () => {
    const { world, shut, reconcile } = await restoreSite({ first_chat_id: 5_000 });
    const low = await call(shut, "PATCH", `/admin/sites/${world.siteId}`, { first_chat_id: 100, name: "New" });
    expect([low.status, low.body]).toMatchObject([
      400,
      { errors: [{ message: "must be above 4999, the highest chat_id that the site has given or skipped" }] },
    ]);
    await change(shut, { name: "New" });
    expect(await both(world)).toMatchObject({ name: "New", floor: 4_999 });
    await change(shut, { first_chat_id: 6_000 });
    expect(await reconcile()).toMatchObject({ name: "New", floor: 5_999 + SKIPPED });
    expect(await world.anotherIsolate().chatId()).toBe(6_000 + SKIPPED);
  });

  it("a site change between restore and reconciliation leaves an audit entry for each value that really changed", async () => {
    const { world, shut } = await restoreSite({ status: "closed", name: "Known", first_chat_id: 40 });
    await change(shut, { name: "New" });
    expect(await auditOf(world)).toEqual([
      ["site.renamed", { from: "Site", to: "New" }],
      ["site.closed", { name: "New", from: "open", to: "closed" }],
      ["site.first_chat_id_set", { first_chat_id: 40, from: 1, to: 40 }],
    ]);
  });

  it("webhooks added between restore and reconciliation do not open a closed site or undo its changes", async () => {
    const { world, shut, reconcile } = await restoreSite(CLOSED);
    await newWebhook(shut);
    await change(shut, { events: false });
    await newWebhook(shut);
    await change(shut, { events: true });
    expect(await reconcile()).toMatchObject({ name: "Known", status: "closed", events: 1 });
    const alone = await restoreSite(CLOSED);
    for (const _ of [1, 2]) await newWebhook(alone.shut);
    expect(await alone.reconcile()).toMatchObject({ name: "Known", status: "closed", events: 1 });
    const webhooks = env.HOME_APAC.prepare("SELECT count(*) AS n FROM webhooks WHERE site_id = ?");
    expect(await webhooks.bind(alone.world.siteId).first("n")).toBe(2);
    expect(await webhooks.bind(world.siteId).first("n")).toBe(2);
  });
});
