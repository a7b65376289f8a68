import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { rotateSecret } from "../../../src/operators/services/app-secrets.ts";
import { checkAppid, issueApp, revokeApp } from "../../../src/operators/services/apps.ts";
import { findSite } from "../../../src/operators/services/sites.ts";
import { auditOf } from "../../support/audit-of.ts";
import { downDb } from "../../support/down-db.ts";
import { databaseOf } from "../../support/homes.ts";
import { replacing } from "../../support/replacing.ts";
import { contextAt } from "../../support/service-context.ts";
import { NOW, World } from "../../support/world.ts";

const siteOf = ({ siteId }: { siteId: number }) => findSite(contextAt(NOW), { siteId });
const routeOf = (appid: string) =>
  env.DB.prepare("SELECT site_id FROM app_routes WHERE appid = ?").bind(appid).first<number>("site_id");
const appIn = (home: string, appid: string) =>
  databaseOf(home).prepare("SELECT site_id, version FROM apps WHERE appid = ?").bind(appid).first();
const TAKEN = { code: "conflict", context: { reason: "appid_taken" } };
const apacDown = () => contextAt(NOW, { HOME_APAC: downDb(env.HOME_APAC) });

/** Answers all reads and fails at the first batch, which inserts the app. */
const apacFails = () => contextAt(NOW, { HOME_APAC: replacing(env.HOME_APAC, { batch: downDb(env.HOME_APAC).batch }) });

describe("an app", () => {
  it.each(["main", "apac"])(
    "a new app has its route in the directory and its record only in the home of its site: %s",
    async (home) => {
      const world = await World.create({}, home);
      const ctx = contextAt(NOW);
      const { appid, version } = await issueApp(ctx, { site: await siteOf(world), name: "N" });
      expect(await routeOf(appid)).toBe(world.siteId);
      expect(await appIn(home, appid)).toEqual({ site_id: world.siteId, version });
      expect(await appIn(home === "main" ? "apac" : "main", appid)).toBeNull();
      expect(ctx.published).toEqual([appid]);
    },
  );

  it("a new app is refused while its home is down: nothing is stored, and any site can get the appid", async () => {
    const [world, other] = [await World.create({}, "apac"), await World.create()];
    const appid = `free-${world.siteId}`;
    const attempt = issueApp(apacDown(), { site: await siteOf(world), name: "N", appid });
    await expect(attempt).rejects.toMatchObject({ code: "unavailable", context: { detail: "Nothing was changed." } });
    expect([await routeOf(appid), await auditOf(appid)]).toEqual([null, []]);
    expect(await issueApp(contextAt(NOW), { site: await siteOf(other), name: "N", appid })).toMatchObject({ appid });
  });

  it("an app that has only a route is finished by the same call, and not by another site", async () => {
    const [world, other] = [await World.create({}, "apac"), await World.create()];
    const appid = `begun-${world.siteId}`;
    const issue = async (of: World, ctx = contextAt(NOW)) =>
      issueApp(ctx, { site: await siteOf(of), name: "N", appid, secret: "the imported secret" });
    const down = apacFails();
    const unfinished = { code: "unavailable", context: { reason: "app_unfinished" } };
    await expect(issue(world, down)).rejects.toMatchObject(unfinished);
    const entry = { home: "main", siteId: world.siteId, action: "app.routed", details: { name: "N" } };
    expect(await auditOf(appid)).toEqual([entry]);
    expect([await routeOf(appid), await appIn("apac", appid), down.published]).toEqual([world.siteId, null, []]);

    await checkAppid(contextAt(NOW), { site: await siteOf(world), appid });
    const elsewhere = checkAppid(contextAt(NOW), { site: await siteOf(other), appid });
    await expect(elsewhere).rejects.toMatchObject(TAKEN);
    await expect(issue(other)).rejects.toMatchObject(TAKEN);
    expect([await routeOf(appid), await appIn("main", appid)]).toEqual([world.siteId, null]);

    expect(await issue(world)).toMatchObject({ appid, secret: "the imported secret" });
    await expect(issue(world)).rejects.toMatchObject(TAKEN);
    const details = { name: "N", imported: ["appid", "secret"] };
    expect(await auditOf(appid)).toEqual([
      entry,
      { home: "apac", siteId: world.siteId, action: "app.imported", details },
    ]);
    const caller = Object.assign(world.anotherIsolate({ CREDENTIALS: undefined }), {
      appid,
      secret: "the imported secret",
    });
    expect((await caller.create()).status).toBe(200);
  });

  it("a new app is refused while the directory is down, and nothing is stored in its home", async () => {
    const world = await World.create({}, "apac");
    const site = await siteOf(world);
    const appid = `unrouted-${world.siteId}`;
    const attempt = issueApp(contextAt(NOW, { DB: downDb(env.DB) }), { site, name: "N", appid });
    await expect(attempt).rejects.toMatchObject({ code: "unavailable" });
    expect([await routeOf(appid), await appIn("apac", appid)]).toEqual([null, null]);
  });

  it("an app is rotated and revoked in its home, and its record in KV names the home", async () => {
    const world = await World.create({}, "apac");
    const record = () => env.CREDENTIALS.get<Record<string, unknown>>(`app:${world.appid}`, "json");
    const rotation = await world.admin("POST", `/admin/apps/${world.appid}/rotate`, { overlap_seconds: 60 });
    const { version } = await rotation.json<{ version: string }>();
    expect(await appIn("apac", world.appid)).toEqual({ site_id: world.siteId, version });
    expect(await record()).toMatchObject({ version, home: "apac", siteId: world.siteId, revokedAt: null });
    await world.admin("DELETE", `/admin/apps/${world.appid}`);
    expect(await record()).toMatchObject({ version, home: "apac", revokedAt: NOW });
  });

  it("an app is not changed while its home is down, and is 404 when only its route exists", async () => {
    const world = await World.create({}, "apac");
    const { appid } = world;
    const before = await appIn("apac", appid);
    const rotation = rotateSecret(apacDown(), { appid, overlapSeconds: 60 });
    await expect(rotation).rejects.toMatchObject({ code: "unavailable" });
    await expect(revokeApp(apacDown(), { appid })).rejects.toMatchObject({ code: "unavailable" });
    expect(await appIn("apac", appid)).toEqual(before);
    await env.HOME_APAC.prepare("DELETE FROM apps WHERE appid = ?").bind(appid).run();
    await expect(revokeApp(contextAt(NOW), { appid })).rejects.toMatchObject({ code: "not_found" });
    const secondRotation = rotateSecret(contextAt(NOW), { appid, overlapSeconds: 60 });
    await expect(secondRotation).rejects.toMatchObject({ code: "not_found" });
  });
});
