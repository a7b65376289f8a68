import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { inOneBatch } from "../../../src/core/store/batch.ts";
import { judge } from "../../../src/events/store/webhook-health.ts";
import { changeAgent } from "../../../src/operators/services/agents.ts";
import { rotateSecret } from "../../../src/operators/services/app-secrets.ts";
import type { ServiceContext } from "../../../src/operators/services/service-context.ts";
import { changeSite, findSite, type Site, type SiteChange } from "../../../src/operators/services/sites.ts";
import { rotateWebhookSecret } from "../../../src/operators/services/webhook-secrets.ts";
import { addWebhook, changeWebhook, deleteWebhook } from "../../../src/operators/services/webhooks.ts";
import { databaseOf } from "../../support/homes.ts";
import { type LateWay, lateDb } from "../../support/late-db.ts";
import { replacing } from "../../support/replacing.ts";
import { contextAt } from "../../support/service-context.ts";
import { eventStore } from "../../support/webhook-store.ts";
import { NOW, World } from "../../support/world.ts";

/**
 * Two operators change one thing. D1 does not answer the first operator's try: the change was made, or it commits after the second
 * operator's change.
 */

const MEANWHILE = { code: "conflict", context: { reason: "changed_meanwhile" } };
const WAYS: LateWay[] = ["answer lost", "late"];

/** A row of a site in its home, with the audit log's entries about such rows. */
async function rowAndAudit({ siteId, home }: World, table: "home_sites" | "agents") {
  const db = databaseOf(home);
  const { results } = await db.prepare(`SELECT * FROM ${table} WHERE site_id = ?`).bind(siteId).all();
  const subject = table === "agents" ? "agent.%" : "site.%";
  const audit = db
    .prepare("SELECT action FROM audit_log WHERE site_id = ? AND action LIKE ? ORDER BY id")
    .bind(siteId, subject);
  const actions = (await audit.all<{ action: string }>()).results.map(({ action }) => action);
  return { row: results[0], actions };
}

describe("a change of a site", () => {
  async function start() {
    const world = await World.create({}, "apac");
    const site = async () => findSite(contextAt(NOW), world);
    const other = async (change: SiteChange) => changeSite(contextAt(NOW), { site: await site(), change });
    /** Changes the site on a home that loses the answer of the first try. `meanwhile` is the other operator's change before the second try. */
    const change = async (way: LateWay, input: SiteChange, ...meanwhile: SiteChange[]) => {
      const between = async () => {
        for (const each of meanwhile) await other(each);
      };
      const { db, commitLate } = lateDb(env.HOME_APAC, way, between);
      const attempt = changeSite(contextAt(NOW, { HOME_APAC: db }), { site: await site(), change: input });
      return { answer: await attempt.catch((error: unknown) => error), commitLate };
    };
    const directory = () => env.DB.prepare("SELECT * FROM sites WHERE id = ?").bind(world.siteId).first();
    return { world, site, other, change, directory };
  }

  it("a site change that commits late undoes no later change of another operator", async () => {
    const { world, other, change, directory } = await start();
    const { answer, commitLate } = await change("late", { status: "open" });
    expect(answer).toMatchObject({ status: "open" });
    await other({ status: "closed", name: "New", firstChatId: 40, events: true });
    const before = await rowAndAudit(world, "home_sites");
    await commitLate();
    expect(await rowAndAudit(world, "home_sites")).toEqual(before);
    expect(before.row).toMatchObject({ status: "closed", name: "New", chat_id_floor: 39, events: 1 });
    expect(await directory()).toMatchObject({ status: "closed", name: "New", revision: before.row?.revision });
  });

  it("a site change that commits late does not turn off events that a first webhook turned on", async () => {
    const { world, site, change } = await start();
    const { commitLate } = await change("late", { name: "New" });
    await addWebhook(contextAt(NOW), { site: await site(), url: "https://hooks.example.com/" });
    await commitLate();
    expect((await rowAndAudit(world, "home_sites")).row).toMatchObject({ events: 1, name: "New" });
    const off = await change("late", { events: false }, { events: true });
    expect(off.answer).toMatchObject(MEANWHILE);
    await off.commitLate();
    expect((await rowAndAudit(world, "home_sites")).row).toMatchObject({ events: 1 });
  });

  it("a site change without an answer undoes nothing when it commits after another change, even an equal one", async () => {
    const { world, other, site } = await start();
    const { db, commitLate } = lateDb(env.HOME_APAC, "late");
    const batch = async (statements: D1PreparedStatement[]) => {
      await db.batch(statements).catch(() => {});
      throw new Error("D1_ERROR: is overloaded");
    };
    const ctx = contextAt(NOW, { HOME_APAC: replacing(env.HOME_APAC, { batch }) });
    const closing = changeSite(ctx, { site: await site(), change: { status: "closed" } });
    await expect(closing).rejects.toMatchObject({ code: "unavailable" });
    await other({ status: "open" });
    await commitLate();
    expect((await rowAndAudit(world, "home_sites")).row).toMatchObject({ status: "open" });
  });

  it.each(WAYS)(
    "a site change is made once, with one audit row, when nobody else changes the site: %s",
    async (way) => {
      const { world, change, directory } = await start();
      const { answer, commitLate } = await change(way, { status: "closed", name: "New" });
      expect(answer).toMatchObject({ status: "closed", name: "New" });
      if (way === "late") await commitLate();
      const { row, actions } = await rowAndAudit(world, "home_sites");
      expect([row?.revision, actions]).toEqual([1, ["site.created", "site.renamed", "site.closed"]]);
      expect(await directory()).toMatchObject({ status: "closed", name: "New", revision: 1 });
    },
  );

  it.each(WAYS)("a site change succeeds when another operator made the same change meanwhile: %s", async (way) => {
    const { world, change } = await start();
    const { answer } = await change(way, { status: "closed" }, { status: "closed", name: "Theirs" });
    expect(answer).toMatchObject({ status: "closed", name: "Theirs" });
    const { actions } = await rowAndAudit(world, "home_sites");
    expect(actions.filter((action) => action === "site.closed")).toHaveLength(1);
  });

  it.each(WAYS)(
    "a site change is a conflict and changes nothing when another change came between its tries: %s",
    async (way) => {
      const { world, change, directory } = await start();
      const { answer, commitLate } = await change(way, { status: "closed" }, { status: "closed" }, { status: "open" });
      expect(answer).toMatchObject(MEANWHILE);
      if (way === "late") await commitLate();
      expect((await rowAndAudit(world, "home_sites")).row).toMatchObject({ status: "open" });
      expect(await directory()).toMatchObject({ status: "open" });
    },
  );

  it("a site change is applied on top of another operator's change that came before its first try", async () => {
    const { world, site, other } = await start();
    let first = true;
    const batch = async (statements: D1PreparedStatement[]) => {
      if (first) {
        first = false;
        await other({ name: "Theirs", status: "closed" });
      }
      return env.HOME_APAC.batch(statements);
    };
    const db = replacing(env.HOME_APAC, { batch });
    const ctx = contextAt(NOW, { HOME_APAC: db });
    const result = await changeSite(ctx, { site: await site(), change: { status: "open" } });
    expect(result).toMatchObject({ name: "Theirs", status: "open", revision: 2 });
    expect((await rowAndAudit(world, "home_sites")).actions.slice(1)).toEqual([
      "site.renamed",
      "site.closed",
      "site.opened",
    ]);
  });
});

describe("first_chat_id", () => {
  it("first_chat_id is set once when D1's answer was lost and a session took that id meanwhile", async () => {
    const world = await World.create({}, "apac");
    const site = await findSite(contextAt(NOW), world);
    const { db } = lateDb(env.HOME_APAC, "answer lost", () => world.chatId());
    const attempt = changeSite(contextAt(NOW, { HOME_APAC: db }), { site, change: { firstChatId: 40 } });
    expect(await attempt).toMatchObject({ firstChatId: 40 });
    expect(await world.chatId()).toBe(41);
  });

  it("setting the same first_chat_id again succeeds after sessions were opened, even with a new name", async () => {
    const world = await World.create({}, "apac");
    const change = async (input: SiteChange) =>
      changeSite(contextAt(NOW), { site: await findSite(contextAt(NOW), world), change: input });
    await change({ firstChatId: 40 });
    for (const _ of [1, 2]) await world.chatId();
    expect(await change({ firstChatId: 40, name: "New" })).toMatchObject({ firstChatId: 40, name: "New" });
    for (const firstChatId of [39, 41]) {
      await expect(change({ firstChatId })).rejects.toMatchObject({ code: "invalid_input" });
    }
    expect(await world.chatId()).toBe(42);
    const { actions } = await rowAndAudit(world, "home_sites");
    expect(actions.filter((action) => action === "site.first_chat_id_set")).toHaveLength(1);
  });
});

describe("a change of a webhook", () => {
  const URL = "https://hooks.example.com/in";

  async function start() {
    const world = await World.create();
    const ctx = contextAt(NOW);
    const site = await findSite(ctx, world);
    const { id: webhookId } = await addWebhook(ctx, { site, url: URL });
    type Change = Parameters<typeof changeWebhook>[1]["change"];
    const other = (change: Change) => changeWebhook(ctx, { site, webhookId, change });
    const change = async (way: LateWay, input: Change, between?: () => Promise<unknown>) => {
      const { db, commitLate } = lateDb(env.DB, way, between);
      const attempt = changeWebhook(contextAt(NOW, { DB: db }), { site, webhookId, change: input });
      return { answer: await attempt.catch((error: unknown) => error), commitLate };
    };
    return { world, ctx, site, webhookId, other, change };
  }

  it("a webhook change that commits late undoes no later change of another operator", async () => {
    const { world, other, change } = await start();
    const { answer, commitLate } = await change("late", { url: `${URL}/1`, status: "enabled" });
    expect(answer).toMatchObject({ url: `${URL}/1` });
    await other({ url: `${URL}/2`, events: ["session.created"], status: "disabled" });
    const before = await eventStore(world);
    await commitLate();
    expect(await eventStore(world)).toEqual(before);
    expect(before.webhooks).toMatchObject([{ url: `${URL}/2`, status: "disabled" }]);
  });

  it("a webhook change that commits late does not enable a webhook that the Worker disabled", async () => {
    const { world, webhookId, change } = await start();
    const { commitLate } = await change("late", { status: "enabled" });
    const cause = { lastStatus: 410, lastCause: "status", lastSeq: 1 } as const;
    const failure = { failedAt: NOW, ...cause, isGone: true, slow: 0, usedUp: [] };
    await inOneBatch(
      env.DB,
      judge(env.DB, { siteId: world.siteId, webhookId, url: URL, ...failure }, null, NOW, "evt_1"),
    );
    await commitLate();
    const { webhooks } = await eventStore(world);
    expect(webhooks).toMatchObject([{ status: "disabled", disabled_reason: "gone" }]);
  });

  it.each(WAYS)(
    "a webhook change is made once, with one audit row, when nobody else changes the webhook: %s",
    async (way) => {
      const { world, change } = await start();
      const { answer, commitLate } = await change(way, { url: `${URL}/1`, status: "disabled" });
      expect(answer).toMatchObject({ url: `${URL}/1`, status: "disabled" });
      if (way === "late") await commitLate();
      const { webhooks, audit } = await eventStore(world);
      expect(webhooks).toMatchObject([{ revision: 1 }]);
      expect(audit.slice(2).map(({ action }) => action)).toEqual(["webhook.changed", "webhook.disabled"]);
    },
  );

  it.each(WAYS)("a webhook change is a conflict when another change came between its tries: %s", async (way) => {
    const { world, other, change } = await start();
    const others = async () => {
      await other({ status: "enabled" });
      await other({ url: `${URL}/2` });
    };
    const { answer, commitLate } = await change(way, { url: `${URL}/1` }, others);
    expect(answer).toMatchObject(MEANWHILE);
    if (way === "late") await commitLate();
    expect((await eventStore(world)).webhooks).toMatchObject([{ url: `${URL}/2` }]);
  });

  it.each(WAYS)("a webhook change is 404 when the webhook was deleted between its tries: %s", async (way) => {
    const { world, ctx, site, webhookId, change } = await start();
    const { answer } = await change(way, { url: `${URL}/1` }, () => deleteWebhook(ctx, { site, webhookId }));
    expect(answer).toMatchObject({ code: "not_found", context: { reason: "webhook_unknown" } });
    expect((await eventStore(world)).webhooks).toEqual([]);
  });

  it("a late commit of the call that added a webhook does not bring the deleted webhook back", async () => {
    const world = await World.create();
    const ctx = contextAt(NOW);
    const site = await findSite(ctx, world);
    const { db, commitLate } = lateDb(env.DB, "late");
    const { id: webhookId } = await addWebhook(contextAt(NOW, { DB: db }), { site, url: URL });
    await deleteWebhook(ctx, { site, webhookId });
    await commitLate();
    const { webhooks, audit } = await eventStore(world);
    expect([webhooks, audit.map(({ action }) => action)]).toEqual([
      [],
      ["webhook.added", "site.events_on", "webhook.deleted"],
    ]);
  });

  it("adding a webhook that is deleted between two tries is a conflict, and does not count as one too many", async () => {
    const world = await World.create();
    const ctx = contextAt(NOW);
    const site = await findSite(ctx, world);
    const removing = async () => {
      const [webhook] = (await eventStore(world)).webhooks;
      await deleteWebhook(ctx, { site, webhookId: String(webhook?.id) });
    };
    const { db } = lateDb(env.DB, "answer lost", removing);
    await expect(addWebhook(contextAt(NOW, { DB: db }), { site, url: URL })).rejects.toMatchObject(MEANWHILE);
    expect((await eventStore(world)).webhooks).toEqual([]);
  });
});

describe("a change of an agent", () => {
  async function start() {
    const world = await World.create();
    const site = await findSite(contextAt(NOW), world);
    type Change = Parameters<typeof changeAgent>[1]["change"];
    const change = (input: Change, DB = env.DB) => changeAgent(contextAt(NOW, { DB }), { site, id: 1, change: input });
    const agent = async () =>
      env.DB.prepare("SELECT * FROM agents WHERE site_id = ? AND id = 1").bind(world.siteId).first();
    return { world, change, agent };
  }

  it.each<[string, { status: "normal"; name?: string }]>([
    ["another one", { status: "normal", name: "New" }],
    ["one to the values that it has", { status: "normal" }],
  ])("an agent change that commits late does not undo %s", async (_, later) => {
    const { world, change, agent } = await start();
    const { db, commitLate } = lateDb(env.DB, "late");
    await expect(change({ status: "disabled", name: "Late" }, db)).rejects.toThrow("Network connection lost");
    await change(later);
    const before = [await agent(), (await rowAndAudit(world, "agents")).actions];
    await commitLate();
    expect([await agent(), (await rowAndAudit(world, "agents")).actions]).toEqual(before);
    expect(before[0]).toMatchObject({ status: "normal", revision: 1 });
  });

  it("an agent change is applied on top of another operator's change that came first", async () => {
    const { change, agent } = await start();
    let rounds = 0;
    const batch = async (statements: D1PreparedStatement[]) => {
      rounds += 1;
      if (rounds < 3) await change({ name: `Theirs ${rounds}` });
      return env.DB.batch(statements);
    };
    const db = replacing(env.DB, { batch });
    expect(await change({ status: "disabled" }, db)).toEqual({ id: 1, name: "Theirs 2", status: "disabled" });
    expect([rounds, await agent()]).toMatchObject([3, { name: "Theirs 2", status: "disabled", revision: 3 }]);
  });

  it("an agent change is a conflict and changes nothing when others change the agent during each of three tries", async () => {
    const { change, agent } = await start();
    let rounds = 0;
    const batch = async (statements: D1PreparedStatement[]) => {
      rounds += 1;
      await change({ name: `Theirs ${rounds}` });
      return env.DB.batch(statements);
    };
    const db = replacing(env.DB, { batch });
    await expect(change({ status: "disabled" }, db)).rejects.toMatchObject(MEANWHILE);
    expect([rounds, await agent()]).toMatchObject([3, { name: "Theirs 3", status: "normal" }]);
  });
});

describe("a database that answers too late", () => {
  type Change = (ctx: ServiceContext, site: Site, webhookId: string, appid: string) => Promise<unknown>;

  it.each<[string, Change]>([
    ["a site", (ctx, site) => changeSite(ctx, { site, change: { name: "Late" } })],
    ["an agent", (ctx, site) => changeAgent(ctx, { site, id: 1, change: { name: "Late" } })],
    ["a webhook", (ctx, site, webhookId) => changeWebhook(ctx, { site, webhookId, change: { status: "disabled" } })],
    ["a webhook's secret", (ctx, site, webhookId) => rotateWebhookSecret(ctx, { site, webhookId, overlapSeconds: 0 })],
    ["an app's secret", (ctx, _, __, appid) => rotateSecret(ctx, { appid, overlapSeconds: 0 })],
  ])(
    "no change begins 8 s after the call, when the operator knows that the result is unknown: %s",
    async (_, change) => {
      const world = await World.create();
      const site = await findSite(contextAt(NOW), world);
      const { id } = await addWebhook(contextAt(NOW), { site, url: "https://hooks.example.com/" });
      const before = [await eventStore(world), await world.operated()];
      let elapsed = 0;
      const prepare = (sql: string) => {
        elapsed = 8_000;
        return env.DB.prepare(sql);
      };
      const ctx = contextAt(NOW, { DB: replacing(env.DB, { prepare }) });
      const runtime = { ...ctx.runtime, elapsed: () => elapsed };
      const attempt = change({ ...ctx, runtime, answerBy: 8_000 }, site, id, world.appid);
      await expect(attempt).rejects.toMatchObject({ code: "unavailable", context: { reason: "d1_unavailable" } });
      expect([await eventStore(world), await world.operated()]).toEqual(before);
    },
  );
});
