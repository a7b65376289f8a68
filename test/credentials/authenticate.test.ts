import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { authenticate } from "../../src/credentials/authenticate.ts";
import { CredentialResolver } from "../../src/credentials/resolve-credentials.ts";
import { countingDb } from "../support/counting-db.ts";
import { hmac, NOW, World } from "../support/world.ts";

const BODY = Uint8Array.from(new TextEncoder().encode('{"any":"bytes"}'));

afterEach(() => void vi.restoreAllMocks());

/** An isolate that checks signatures over BODY. */
function isolateOf() {
  const clock = { now: NOW };
  const resolver = new CredentialResolver(() => clock.now * 1000);
  const { db, trips } = countingDb(env.DB);
  const bindings = {
    directory: db,
    credentials: env.CREDENTIALS,
    masterKeys: [Uint8Array.fromBase64(env.MASTER_KEY)] as [Uint8Array<ArrayBuffer>],
  };
  const left: Promise<unknown>[] = [];
  const check = async (appid: string, signature: string | undefined) => {
    const request = { appid, signature, body: BODY.buffer, now: clock.now };
    const found = await authenticate(resolver, bindings, request, {
      waitUntil: (work) => void left.push(work),
      beforeDatabase: async () => {},
      answerBy: Date.now() + 8_000,
    });
    await Promise.all(left.splice(0));
    return found;
  };
  return { clock, trips, check };
}

async function rotate(world: World, overlapSeconds: number): Promise<string> {
  const answer = await world.admin("POST", `/admin/apps/${world.appid}/rotate`, { overlap_seconds: overlapSeconds });
  return (await answer.json<{ secret: string }>()).secret;
}

describe("authentication", () => {
  it("knows the caller by a signature with the current secret, from every source", async () => {
    const { appid, siteId, secret } = await World.create();
    const signature = await hmac(secret, BODY);
    const caller = (source: string) => ({ ok: true, caller: { appid, siteId, secretVersion: 1, source } });
    const first = isolateOf();
    expect(await first.check(appid, signature)).toEqual(caller("d1"));
    expect(await first.check(appid, signature)).toEqual(caller("isolate"));
    expect(await isolateOf().check(appid, signature)).toEqual(caller("kv"));
  });

  it.each([
    ["no signature", undefined, "signature_missing"],
    ["an empty signature", "", "signature_malformed"],
    ["a short signature", "00", "signature_malformed"],
    ["another signature", "0".repeat(64), "signature_mismatch"],
  ])("refuses %s", async (_, signature, reason) => {
    const { appid } = await World.create();
    expect(await isolateOf().check(appid, signature)).toEqual({ ok: false, reason });
  });

  it("refuses an unknown and a revoked appid at the cost of one HMAC, like a wrong signature", async () => {
    const world = await World.create();
    await world.admin("DELETE", `/admin/apps/${world.appid}`);
    const verify = vi.spyOn(crypto.subtle, "verify");
    const signature = await hmac(world.secret, BODY);
    expect(await isolateOf().check("unknown-app", signature)).toEqual({ ok: false, reason: "app_unknown" });
    expect(verify).toHaveBeenCalledTimes(1);
    expect(await isolateOf().check(world.appid, signature)).toEqual({ ok: false, reason: "app_revoked" });
    expect(verify).toHaveBeenCalledTimes(2);
    expect(verify.mock.calls.map(([, , given]) => new Uint8Array(given as Uint8Array).toHex())).toEqual([
      signature,
      signature,
    ]);
  });

  it("tells which secret it was: the previous one has the version before", async () => {
    const world = await World.create();
    const next = await rotate(world, 60);
    const { check } = isolateOf();
    expect(await check(world.appid, await hmac(world.secret, BODY))).toMatchObject({ caller: { secretVersion: 1 } });
    expect(await check(world.appid, await hmac(next, BODY))).toMatchObject({ caller: { secretVersion: 2 } });
  });

  it("ends the overlap by the second, also in an isolate that learnt of it long before", async () => {
    const world = await World.create();
    await rotate(world, 60);
    const { check, clock } = isolateOf();
    const old = await hmac(world.secret, BODY);
    clock.now = NOW + 59;
    expect(await check(world.appid, old)).toMatchObject({ ok: true });
    clock.now = NOW + 60;
    expect(await check(world.appid, old)).toEqual({ ok: false, reason: "signature_mismatch" });
  });

  it("tries a signature that fails on a cached record once more on a fresh one: a new secret works at once", async () => {
    const world = await World.create();
    const { check, trips } = isolateOf();
    await check(world.appid, await hmac(world.secret, BODY));
    const next = await rotate(world, 0);
    trips.single = 0;
    expect(await check(world.appid, await hmac(next, BODY))).toMatchObject({
      ok: true,
      caller: { source: "d1", secretVersion: 2 },
    });
    expect(await check(world.appid, await hmac(world.secret, BODY))).toMatchObject({ reason: "signature_mismatch" });
    // One for the new secret, one in vain for the old one.
    expect(trips.single).toBe(2);
  });

  it("finds on the fresh record that the app was revoked", async () => {
    const world = await World.create();
    const { check } = isolateOf();
    await check(world.appid, await hmac(world.secret, BODY));
    await world.admin("DELETE", `/admin/apps/${world.appid}`);
    expect(await check(world.appid, "0".repeat(64))).toMatchObject({ ok: false });
    expect(await check(world.appid, await hmac(world.secret, BODY))).toEqual({ ok: false, reason: "app_revoked" });
  });

  it("asks D1 no second time about what it just read there, nor for a signature no secret could have made", async () => {
    const world = await World.create();
    const { check, trips } = isolateOf();
    expect(await check(world.appid, "0".repeat(64))).toMatchObject({ ok: false });
    expect(trips.single).toBe(1);
    for (const signature of [undefined, "", "z".repeat(64), "0".repeat(63)]) await check(world.appid, signature);
    expect(trips.single).toBe(1);
  });

  it("asks D1 once in 5 s for any number of forged signatures", async () => {
    const world = await World.create();
    const { check, clock, trips } = isolateOf();
    await check(world.appid, await hmac(world.secret, BODY));
    trips.single = 0;
    for (let i = 0; i < 20; i++) await check(world.appid, String(i).padStart(64, "0"));
    expect(trips.single).toBe(1);
    clock.now += 5;
    for (let i = 0; i < 20; i++) await check(world.appid, String(i).padStart(64, "0"));
    expect(trips.single).toBe(2);
    expect(await check(world.appid, await hmac(world.secret, BODY))).toMatchObject({ ok: true });
  });
});
