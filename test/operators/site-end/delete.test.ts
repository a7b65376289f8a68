import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { accessWorld, personAt } from "../../support/access-world.ts";
import { call } from "../../support/admin-calls.ts";
import { fieldsOf, HOMES, personText, placesOf } from "../../support/customers.ts";
import { newPerson, signedInPerson } from "../../support/new-person.ts";
import { newToken, useToken } from "../../support/new-token.ts";
import { newWebhook } from "../../support/new-webhook.ts";
import {
  DAY,
  deleteSite,
  endSite,
  patchSite,
  pruneAll,
  pruneEnded,
  readSite,
  sitePath,
  tablesLeft,
  tablesWith,
} from "../../support/site-end.ts";
import { NOW, World } from "../../support/world.ts";

/** Deleting a site: see docs/operating/data-and-restore.md, "Deleting a site". */

/** A site with rows in every table that holds data of sites. */
async function usedSite(home: string): Promise<{ world: World; text: string }> {
  const world = await World.create({}, home);
  await newWebhook(world);
  const text = personText();
  const id = await world.chatId(fieldsOf(text));
  await world.create(fieldsOf(text), { "idempotency-key": text });
  await world.add(id);
  await world.chatId({ sbs: "erased" });
  await call(world, "POST", `${sitePath(world)}/customers/erase`, { sbs: "erased" });
  await newToken({ role: "owner", siteId: world.siteId });
  return { world, text };
}

/** The rows of the audit log about the end of a token or a person. */
const endsInAuditLog = async (id: string) =>
  (
    await env.DB.prepare("SELECT action, actor FROM audit_log WHERE subject = ? AND action IN (?, ?)")
      .bind(id, "token.deleted", "person.ended")
      .all()
  ).results;

describe.each(HOMES)("a site in %s that is deleted", (home) => {
  it("a deleted site is gone from every table, shows what remains meanwhile, and its neighbour does not change", async () => {
    const { world, text } = await usedSite(home);
    const neighbour = await World.create({}, home);
    const id = await neighbour.chatId(fieldsOf("neighbour"));
    const before = await neighbour.stored();
    const answer = await endSite(world);
    expect(answer).toMatchObject({ status: 202, body: { deletion_id: expect.stringMatching(/^[0-9a-f-]{36}$/) } });
    const remaining = { sessions: 2, webhooks: 0, apps: 0, events: 5 };
    expect(await readSite(world)).toMatchObject({ deletion: { done_at: null, remaining } });
    expect(await deleteSite(world)).toMatchObject({ status: 202, body: answer.body });
    expect(await deleteSite(world, "Other")).toMatchObject({ status: 400 });
    await pruneAll(NOW + 60);
    expect(await deleteSite(world)).toMatchObject({ status: 202, body: answer.body });
    expect(await tablesLeft(world)).toEqual([]);
    expect(await placesOf(text)).toEqual([]);
    expect(await neighbour.stored()).toEqual(before);
    expect((await neighbour.add(id)).envelope).toMatchObject({ code: 1 });
    const { deletion_id } = answer.body as { deletion_id: string };
    const site = (await readSite(world)) as { deletion: { remaining: Record<string, number> } };
    expect(site).toMatchObject({
      id: world.siteId,
      name: "",
      status: "deleted",
      deletion: { deletion_id, begun_at: NOW, done_at: NOW + 60 },
    });
    expect(Object.values(site.deletion.remaining).filter((rows) => rows !== 0)).toEqual([]);
    const { audit } = await world.operated();
    expect(audit.slice(-2)).toMatchObject([
      { action: "site.deletion_begun", who_id: "root" },
      { action: "site.deleted", actor: "worker", who_id: null, request_id: null },
    ]);
  });
});

describe("a site that was deleted", () => {
  it("a deleted site frees its appids 31 days after its end, but never its id", async () => {
    const [other, world, newest] = [
      await World.create(),
      await World.create({}, "apac"),
      await World.create({}, "apac"),
    ];
    for (const each of [world, newest]) await endSite(each);
    await pruneEnded(NOW);
    const take = () => call(other, "POST", `${sitePath(other)}/apps`, { name: "App", appid: world.appid });
    await pruneEnded(NOW + 31 * DAY - 1);
    expect(await take()).toMatchObject({ status: 409, body: { detail: "appid: is taken" } });
    await pruneEnded(NOW + 31 * DAY);
    expect((await take()).status).toBe(201);
    const tables = ["main", "apac"].flatMap((home) => [`${home}.audit_log`, `${home}.site_deletions`]);
    expect(await tablesWith(world)).toEqual(tables);
    expect((await call(world, "GET", sitePath(world))).status).toBe(404);
    const madeSite = (await call(world, "POST", "/admin/sites", { name: "Next", home: "apac" })).body as { id: number };
    expect(madeSite.id).toBeGreaterThan(newest.siteId);
  });
});

describe("a site that is being deleted", () => {
  it("a site that is being deleted loses its apps immediately: its calls are answered like those of an unknown app", async () => {
    const world = await World.create({}, "apac");
    // This isolate has the credentials in memory.
    await world.chatId();
    await endSite(world);
    const unknown = await World.create({}, "apac");
    unknown.appid = "nobody";
    const [of, than] = [await world.create(), await unknown.create()];
    expect([of.status, of.envelope]).toEqual([than.status, than.envelope]);
    const fresh = await world.anotherIsolate().create();
    expect([fresh.status, fresh.envelope]).toEqual([than.status, than.envelope]);
  });

  it("a site that is being deleted gets no new token", async () => {
    const world = await World.create({}, "apac");
    await endSite(world);
    const fields = { name: "Late", role: "viewer", site_id: world.siteId };
    expect(await call(world, "POST", "/admin/tokens", fields)).toMatchObject({
      status: 400,
      body: { errors: [{ field: "site_id", message: "must be a site's id" }] },
    });
  });

  it("a site that is being deleted is 404 for every other call", async () => {
    const world = await World.create({}, "apac");
    await endSite(world);
    for (const path of ["/sessions", "/apps", "/export", "/webhooks"]) {
      expect((await call(world, "GET", `${sitePath(world)}${path}`)).status).toBe(404);
    }
    expect((await patchSite(world, { status: "open" })).status).toBe(404);
    expect((await call(world, "DELETE", `/admin/apps/${world.appid}`)).status).toBe(404);
    const listSites = async () => {
      const { body } = await call(world, "GET", `/admin/sites?limit=100&cursor=${world.siteId - 1}`);
      return (body as { items: { id: number }[] }).items;
    };
    expect((await listSites()).find(({ id }) => id === world.siteId)).toMatchObject({ status: "deleting" });
    await pruneEnded(NOW);
    expect((await listSites()).map(({ id }) => id)).not.toContain(world.siteId);
  });
});

describe("DELETE /admin/sites/:site_id: the deletion of a site", () => {
  it("deleting a site is refused while the site is open, or with a wrong name, and deletes nothing", async () => {
    const world = await World.create();
    await world.chatId();
    const before = [await world.stored(), await world.operated()];
    expect(await deleteSite(world)).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining("open") },
    });
    const bad = { status: 400, body: { errors: [{ field: "name", message: "must be the name of this site" }] } };
    expect(await deleteSite(world, "Site ")).toMatchObject(bad);
    for (const body of [{}, { name: "" }, { name: 5 }, { name: "Site", more: 1 }]) {
      expect([body, (await call(world, "DELETE", sitePath(world), body)).status]).toEqual([body, 400]);
    }
    expect([await world.stored(), await world.operated()]).toEqual(before);
    await patchSite(world, { status: "closed" });
    expect(await deleteSite(world, "Other")).toMatchObject(bad);
    expect((await patchSite(world, { status: "open" })).status).toBe(200);
    expect((await world.create()).envelope).toMatchObject({ code: 1 });
  });

  it("deleting a site needs an owner, and the tokens of the site end when it is done", async () => {
    const world = await World.create();
    const operator = await newToken({ role: "operator", siteId: world.siteId });
    const owner = await newToken({ role: "owner", siteId: world.siteId });
    await patchSite(world, { status: "closed" });
    const remove = ({ token }: { token: string }) =>
      useToken(world, token, "DELETE", sitePath(world), { name: "Site" });
    expect((await remove(operator)).status).toBe(403);
    expect((await remove(owner)).status).toBe(202);
    expect((await useToken(world, owner.token, "GET", sitePath(world))).status).toBe(200);
    await pruneEnded(NOW);
    expect((await useToken(world, owner.token, "GET", sitePath(world))).status).toBe(401);
    await pruneEnded(NOW);
    expect(await endsInAuditLog(owner.id)).toEqual([{ action: "token.deleted", actor: "worker" }]);
  });

  it("the access of people who see a deleted site alone ends when the deletion is done, and nobody else's", async () => {
    const world = await World.create();
    const ofSite = await signedInPerson(world, { siteId: world.siteId });
    const ofAll = await signedInPerson(world);
    await endSite(world);
    expect((await ofSite.visitor.get(`/console/sites/${world.siteId}`)).status).toBe(200);
    await pruneEnded(NOW);
    const statuses = [ofSite, ofAll].map(async ({ visitor }) => (await visitor.get("/console")).status);
    expect(await Promise.all(statuses)).toEqual([303, 200]);
    const rows = env.DB.prepare("SELECT id, deleted_at FROM people WHERE id IN (?, ?)").bind(ofSite.id, ofAll.id);
    const ends = new Map(
      (await rows.all<{ id: string; deleted_at: number | null }>()).results.map((row) => [row.id, row.deleted_at]),
    );
    expect([ends.get(ofSite.id), ends.get(ofAll.id)]).toEqual([NOW, null]);
    expect(await endsInAuditLog(ofSite.id)).toEqual([{ action: "person.ended", actor: "worker" }]);
    expect(await endsInAuditLog(ofAll.id)).toEqual([]);
  });

  it("the open sessions of people who see a deleted site alone end with it: the same assertion opens none when the address is let in again", async () => {
    const world = await accessWorld();
    const email = `dora-${world.siteId}@elsewhere.example`;
    await newPerson({ email, siteId: world.siteId });
    const visitor = await personAt(world, email);
    const { id } = await signedInPerson(world, { siteId: world.siteId });
    expect((await visitor.get("/console")).status).toBe(200);
    await endSite(world);
    await pruneEnded(NOW);
    const sessions = env.DB.prepare("SELECT ended_at FROM console_sessions WHERE who_id IN (?, ?)").bind(email, id);
    expect((await sessions.all()).results).toEqual([{ ended_at: NOW }, { ended_at: NOW }]);
    const audited = env.DB.prepare(
      "SELECT actor, details ->> 'id' AS id FROM audit_log WHERE action = 'operator.session_ended' AND details ->> 'id' IN (?, ?)",
    );
    const rows = (await audited.bind(email, id).all<{ id: string }>()).results.toSorted((a, b) =>
      a.id < b.id ? -1 : 1,
    );
    expect(rows).toEqual([email, id].map((each) => ({ actor: "worker", id: each })));
    expect((await world.admin("POST", "/admin/people", { email, role: "viewer" })).status).toBe(201);
    expect((await visitor.get("/console")).status).toBe(401);
    expect((await (await personAt(world, email)).get("/console")).status).toBe(200);
  });

  it("deleting a site deletes nothing while KV fails, and goes on when the call is repeated", async () => {
    const put = async () => {
      throw new Error("KV is down");
    };
    const world = await World.create();
    await world.chatId();
    await patchSite(world, { status: "closed" });
    const before = await world.stored();
    const isolateWithoutKv = world.anotherIsolate({
      CREDENTIALS: { ...env.CREDENTIALS, put, get: async () => null } as never,
    });
    expect((await deleteSite(isolateWithoutKv)).status).toBe(503);
    await pruneEnded(NOW);
    expect(await world.stored()).toMatchObject({ sessions: before.sessions, messages: before.messages });
    expect(await patchSite(world, { status: "open" })).toMatchObject({ status: 409 });
    expect((await deleteSite(world)).status).toBe(202);
    await pruneEnded(NOW);
    expect(await tablesLeft(world)).toEqual([]);
  });
});
