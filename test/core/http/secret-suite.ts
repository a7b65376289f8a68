import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { countingDb } from "../../support/counting-db.ts";
import { expectAccepted, expectTokenInvalid, type SignedRoute } from "../../support/signed-routes.ts";
import { staleKv } from "../../support/stale-kv.ts";
import { NOW, type ReplacedBindings, World } from "../../support/world.ts";

/** Caches that an operator's change has not reached. */
const OUTDATED_CACHES = [
  "an isolate that holds the old record",
  "a fresh isolate beside a KV that holds the old record",
] as const;

/** Tests of revocation and rotation for one route. Both are effective on the very next request, whatever the caches hold. */
export function secretSuite(route: SignedRoute): void {
  const send = async (world: World) => world.send(route.operation, await route.acceptable(world));
  const accepts = async (world: World) => {
    const body = await route.acceptable(world);
    await expectAccepted(world, route, () => world.send(route.operation, body));
  };
  const refuses = async (world: World) => {
    const body = await route.acceptable(world);
    return expectTokenInvalid(world, () => world.send(route.operation, body));
  };

  /** A world whose caches hold the current record, and another isolate for the operator, whose changes do not reach these caches. */
  async function behind(where: (typeof OUTDATED_CACHES)[number]): Promise<{ world: World; operator: World }> {
    const first = await World.create();
    const kv = staleKv(env.CREDENTIALS);
    const counting = countingDb(env.DB);
    // The first request puts the record into KV, the second reads it from there.
    await send(first);
    // `kv` reads the record now and keeps it, because with a slow KV the look-up would ask D1 too.
    await kv.get(`app:${first.appid}`, { type: "json" });
    const warm = first.anotherIsolate({ CREDENTIALS: kv, DB: counting.db });
    await send(warm);
    expect(counting.trips).toEqual({ batches: 1, single: 0 });
    const world = where === OUTDATED_CACHES[0] ? warm : warm.anotherIsolate();
    return { world, operator: first };
  }

  async function rotate(operator: World, overlapSeconds: number, ends?: "previous" | "current"): Promise<string> {
    const body = { overlap_seconds: overlapSeconds, ...(ends && { ends }) };
    const answer = await operator.admin("POST", `/admin/apps/${operator.appid}/rotate`, body);
    expect(answer.status).toBe(200);
    return (await answer.json<{ secret: string }>()).secret;
  }

  describe.each(OUTDATED_CACHES)("in %s", (where) => {
    it("a revoked app is refused on the very next request", async () => {
      const { world, operator } = await behind(where);
      expect((await operator.admin("DELETE", `/admin/apps/${world.appid}`)).status).toBe(204);
      const { headers } = await refuses(world);
      expect(headers.has("x-error-detail")).toBe(false);
      await refuses(world);
    });

    it("the old secret is refused on the very next request after a rotation without overlap", async () => {
      const { world, operator } = await behind(where);
      const secret = await rotate(operator, 0);
      await refuses(world);
      world.secret = secret;
      await accepts(world);
    });

    it("the previous secret is accepted until its overlap ends", async () => {
      const { world, operator } = await behind(where);
      const secret = await rotate(operator, 100);
      world.clock.now += 99;
      await accepts(world);
      world.clock.now += 1;
      await refuses(world);
      world.secret = secret;
      await accepts(world);
    });

    it("a secret that was rotated away twice is refused, although the first rotation's overlap still lasts", async () => {
      const { world, operator } = await behind(where);
      const second = await rotate(operator, 1_000);
      const third = await rotate(operator, 1_000, "previous");
      await refuses(world);
      for (const secret of [second, third]) {
        world.secret = secret;
        await accepts(world);
      }
    });

    it("a lost new secret is refused after the operator replaced it, and the previous secret still works", async () => {
      const { world, operator } = await behind(where);
      const previous = world.secret;
      const lostSecret = await rotate(operator, 1_000);
      Object.assign(world, { secret: lostSecret });
      await accepts(world);
      const newSecret = await rotate(operator, 60, "current");
      await refuses(world);
      for (const secret of [previous, newSecret]) {
        world.secret = secret;
        await accepts(world);
      }
    });

    it("the previous secret is refused on the very next request after its overlap was ended", async () => {
      const { world, operator } = await behind(where);
      const secret = await rotate(operator, 1_000);
      await accepts(world);
      expect((await operator.admin("POST", `/admin/apps/${operator.appid}/end-overlap`)).status).toBe(200);
      await refuses(world);
      world.secret = secret;
      await accepts(world);
    });

    it("both old secrets are refused after a rotation without overlap, even by a clock that is an hour slow", async () => {
      const { world, operator } = await behind(where);
      const first = world.secret;
      const second = await rotate(operator, 1_000);
      const third = await rotate(operator, 0);
      world.clock.now -= 3_600;
      for (const secret of [first, second]) await refuses(Object.assign(world, { secret }));
      await accepts(Object.assign(world, { secret: third }));
    });
  });

  it("both secrets are accepted after a rotation that the isolate knows, and only the new one after the overlap", async () => {
    const world = await World.create();
    const old = world.secret;
    const fresh = await rotate(world, 100);
    world.secret = fresh;
    await accepts(world);
    world.secret = old;
    world.clock.now += 99;
    await accepts(world);
    world.clock.now += 1;
    // A signature with an ended secret is not valid, so the caller learns nothing about the fields.
    const malformed = { ...(await route.acceptable(world)), ranstr: null };
    const { headers } = await expectTokenInvalid(world, () => world.send(route.operation, malformed));
    expect(headers.has("x-error-detail")).toBe(false);
    await refuses(world);
    await refuses(world.anotherIsolate());
    world.secret = fresh;
    await accepts(world);
  });

  describe("an appid that was lost and issued again, with its secret, to another site", () => {
    async function reissue(change: ReplacedBindings) {
      const before = await World.create(change);
      const next = await World.create();
      await send(before);
      // The service never deletes the route of an app, so only a restored directory can lack it.
      for (const table of ["apps", "app_routes"]) {
        await env.DB.prepare(`DELETE FROM ${table} WHERE appid = ?`).bind(before.appid).run();
      }
      const { appid, secret } = before;
      const issued = await next.admin("POST", `/admin/sites/${next.siteId}/apps`, { name: "Again", appid, secret });
      expect(issued.status).toBe(201);
      Object.assign(next, { appid, secret });
      return { before, next };
    }

    it.each<[string, ReplacedBindings]>([
      ["with KV", {}],
      ["without KV", { CREDENTIALS: undefined }],
    ])("an appid that was issued again to another site writes only into the new site, %s", async (_, change) => {
      const { before, next } = await reissue(change);
      const body = await route.acceptable(next);
      const { nonces: _of, keys: _them, ...stored } = await before.stored();
      await expectAccepted(next, route, () => before.send(route.operation, body));
      // Nonces and keys belong to the appid, so they are the same for both sites.
      const { nonces: _also, keys: _those, ...rows } = await before.stored();
      expect(rows).toEqual(stored);
    });
  });

  it("a record of KV that names another site is not believed, because its seal does not open", async () => {
    const [world, other] = [await World.create(), await World.create()];
    await send(world);
    const key = `app:${world.appid}`;
    const record = await env.CREDENTIALS.get<Record<string, unknown>>(key, "json");
    await env.CREDENTIALS.put(key, JSON.stringify({ ...record, siteId: other.siteId }));
    const fresh = world.anotherIsolate();
    const before = await other.stored();
    await accepts(fresh);
    expect(await other.stored()).toEqual(before);
  });

  it("a record of KV that gives an ended secret the version of the current one is not believed", async () => {
    const world = await World.create();
    const row = () => env.DB.prepare("SELECT * FROM apps WHERE appid = ?").bind(world.appid).first();
    const before = await row();
    const next = await rotate(world, 0);
    const after = await row();
    const { appid, siteId, home } = world;
    const record = { appid, siteId, home, version: after?.version, revokedAt: null };
    const forgeries = [
      { secret: before?.secret, previousVersion: null, previousSecret: null, previousExpiresAt: null },
      {
        secret: after?.secret,
        previousVersion: after?.version,
        previousSecret: after?.previous_secret,
        previousExpiresAt: NOW + 10_000,
      },
    ];
    for (const forgery of forgeries) {
      await env.CREDENTIALS.put(`app:${world.appid}`, JSON.stringify({ ...record, ...forgery }));
      await refuses(world.anotherIsolate());
      await accepts(Object.assign(world.anotherIsolate(), { secret: next }));
    }
  });

  it("a call writes nothing for a site that the app does not belong to, whatever a record says", async () => {
    const [world, other] = [await World.create(), await World.create()];
    await env.DB.prepare("UPDATE apps SET site_id = ? WHERE appid = ?").bind(other.siteId, world.appid).run();
    const body = await route.acceptable(world);
    const before = [await world.stored(), await other.stored()];
    const answer = await world.send(route.operation, body);
    expect(answer.envelope.code).toBe(-1);
    expect([await world.stored(), await other.stored()]).toEqual(before);
  });

  it("an app whose revocation a restore has undone is accepted on the next request of any isolate", async () => {
    const world = await World.create();
    await send(world);
    expect((await world.admin("DELETE", `/admin/apps/${world.appid}`)).status).toBe(204);
    // This isolate sees the revocation, and puts it into KV.
    const informedIsolate = world.anotherIsolate();
    await refuses(informedIsolate);
    await env.DB.prepare("UPDATE apps SET revoked_at = NULL WHERE appid = ?").bind(world.appid).run();
    await accepts(world.anotherIsolate());
    informedIsolate.clock.now += 5;
    await accepts(informedIsolate);
  });

  it("a secret whose rotation was undone is refused for good, even when the app is rotated again", async () => {
    const world = await World.create();
    const old = world.secret;
    const row = await env.DB.prepare("SELECT * FROM apps WHERE appid = ?").bind(world.appid).first();
    const undoneSecret = await rotate(world, 0);
    const isolate = Object.assign(world.anotherIsolate(), { secret: undoneSecret });
    await send(isolate);
    const names = Object.keys(row ?? {});
    await env.DB.prepare(`UPDATE apps SET ${names.map((name) => `${name} = ?`).join(", ")} WHERE appid = ?`)
      .bind(...Object.values(row ?? {}), world.appid)
      .run();
    const secondAnswer = await rotate(world, 60);
    await refuses(isolate);
    for (const secret of [old, secondAnswer]) await accepts(Object.assign(isolate, { secret }));
  });
}
