import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { countingDb } from "./counting-db.ts";
import { expectAccepted, expectTokenInvalid, type SignedRoute } from "./signed-routes.ts";
import { staleKv } from "./stale-kv.ts";
import { World } from "./world.ts";

/** Where an operator's change has not arrived. */
const BEHIND = [
  "an isolate that holds the old record",
  "a fresh isolate beside a KV that holds the old record",
] as const;

/** Revocation and rotation, for one route: they hold on the very next request, whatever a cache believes. */
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

  /** A world whose caches hold the record of now, and another isolate for the operator, whose changes do not reach them. */
  async function behind(where: (typeof BEHIND)[number]): Promise<{ world: World; operator: World }> {
    const first = await World.create();
    const kv = staleKv(env.CREDENTIALS);
    const counting = countingDb(env.DB);
    // The first request puts the record into KV, the second takes it from there.
    await send(first);
    const warm = first.anotherIsolate({ CREDENTIALS: kv, DB: counting.db });
    await send(warm);
    expect(counting.trips).toEqual({ batches: 1, single: 0 });
    const world = where === BEHIND[0] ? warm : warm.anotherIsolate();
    return { world, operator: first };
  }

  async function rotate(operator: World, overlapSeconds: number): Promise<string> {
    const answer = await operator.admin("POST", `/admin/apps/${operator.appid}/rotate`, {
      overlap_seconds: overlapSeconds,
    });
    expect(answer.status).toBe(200);
    return (await answer.json<{ secret: string }>()).secret;
  }

  describe.each(BEHIND)("in %s", (where) => {
    it("refuses a revoked app on the very next request", async () => {
      const { world, operator } = await behind(where);
      expect((await operator.admin("DELETE", `/admin/apps/${world.appid}`)).status).toBe(204);
      const { headers } = await refuses(world);
      expect(headers.has("x-error-detail")).toBe(false);
      await refuses(world);
    });

    it("refuses the old secret on the very next request after a rotation without overlap", async () => {
      const { world, operator } = await behind(where);
      const secret = await rotate(operator, 0);
      await refuses(world);
      world.secret = secret;
      await accepts(world);
    });

    it("accepts a new secret on the very next request", async () => {
      const { world, operator } = await behind(where);
      world.secret = await rotate(operator, 0);
      await accepts(world);
    });

    it("accepts the previous secret until its overlap ends", async () => {
      const { world, operator } = await behind(where);
      const secret = await rotate(operator, 100);
      world.clock.now += 99;
      await accepts(world);
      world.clock.now += 1;
      await refuses(world);
      world.secret = secret;
      await accepts(world);
    });

    it("refuses a secret that was rotated away twice, although the overlap of the first rotation still lasts", async () => {
      const { world, operator } = await behind(where);
      const second = await rotate(operator, 1_000);
      const third = await rotate(operator, 1_000);
      await refuses(world);
      for (const secret of [second, third]) {
        world.secret = secret;
        await accepts(world);
      }
    });
  });

  it("accepts both secrets in an isolate that knows of the rotation, and only the new one after the overlap", async () => {
    const world = await World.create();
    const old = world.secret;
    const fresh = await rotate(world, 100);
    world.secret = fresh;
    await accepts(world);
    world.secret = old;
    world.clock.now += 99;
    await accepts(world);
    world.clock.now += 1;
    // An ended secret is no signature at all, so it learns nothing of the fields either.
    const malformed = { ...(await route.acceptable(world)), ranstr: null };
    const { headers } = await expectTokenInvalid(world, () => world.send(route.operation, malformed));
    expect(headers.has("x-error-detail")).toBe(false);
    await refuses(world);
    await refuses(world.anotherIsolate());
    world.secret = fresh;
    await accepts(world);
  });
}
