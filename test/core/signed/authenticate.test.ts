import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { CredentialResolver } from "../../../src/core/credentials/resolve-credentials.ts";
import { authenticate } from "../../../src/core/signed/authenticate.ts";
import { TELEMETRY } from "../../support/console-telemetry.ts";
import { runtimeAt } from "../../support/test-runtime.ts";
import { hmac, NOW, World } from "../../support/world.ts";

const BODY = Uint8Array.from(new TextEncoder().encode('{"any":"bytes"}'));

afterEach(() => void vi.restoreAllMocks());

/** D1's current values of an app. */
function find(appid: string) {
  const bindings = {
    directory: env.DB,
    homes: new Map([
      ["main", env.DB],
      ["apac", env.HOME_APAC],
    ]),
    closedHomes: new Set<string>(),
    credentials: undefined,
    masterKeys: [Uint8Array.fromBase64(env.MASTER_KEY)] as [Uint8Array<ArrayBuffer>],
  };
  const runtime = runtimeAt(() => NOW * 1000);
  const lifetime = { runtime, waitUntil: () => {}, answerBy: Date.now() + 8_000 };
  return new CredentialResolver(runtime, TELEMETRY).lookUp(bindings, lifetime, {
    trust: "cache",
    appid,
    inTurn: false,
  });
}

const check = async (appid: string, signature: string | undefined, now = NOW) =>
  authenticate(await find(appid), { signature, body: BODY.buffer, now });

async function rotate(world: World, overlapSeconds: number): Promise<string> {
  const answer = await world.admin("POST", `/admin/apps/${world.appid}/rotate`, { overlap_seconds: overlapSeconds });
  return (await answer.json<{ secret: string }>()).secret;
}

describe("authentication", () => {
  it.each(["main", "apac"])(
    "the current secret's signature identifies the caller, with the site and the home of the app: %s",
    async (home) => {
      const { appid, siteId, secret } = await World.create({}, home);
      const result = await check(appid, await hmac(secret, BODY));
      expect(result).toMatchObject({ ok: true, caller: { appid, siteId, home, source: "d1" } });
    },
  );

  it("an unknown or revoked appid is refused at the cost of one HMAC, like a wrong signature", async () => {
    const world = await World.create();
    await world.admin("DELETE", `/admin/apps/${world.appid}`);
    const verify = vi.spyOn(crypto.subtle, "verify");
    const signature = await hmac(world.secret, BODY);
    expect(await check("unknown-app", signature)).toEqual({ ok: false, reason: "app_unknown" });
    expect(verify).toHaveBeenCalledTimes(1);
    expect(await check(world.appid, signature)).toEqual({ ok: false, reason: "app_revoked" });
    expect(verify).toHaveBeenCalledTimes(2);
    expect(verify.mock.calls.map(([, , bytes]) => new Uint8Array(bytes as Uint8Array).toHex())).toEqual([
      signature,
      signature,
    ]);
  });

  it("authentication says which of two valid secrets matched", async () => {
    const world = await World.create();
    const versions = async () =>
      env.DB.prepare("SELECT version, previous_version FROM apps WHERE appid = ?").bind(world.appid).first();
    const next = await rotate(world, 60);
    const { version, previous_version } = (await versions()) ?? {};
    expect(await check(world.appid, await hmac(world.secret, BODY))).toMatchObject({
      caller: { secretVersion: previous_version },
    });
    expect(await check(world.appid, await hmac(next, BODY))).toMatchObject({ caller: { secretVersion: version } });
    expect(version).not.toBe(previous_version);
  });

  it("a previous secret is refused from the second in which its overlap ends, even with an old record", async () => {
    const world = await World.create();
    await rotate(world, 60);
    const old = await hmac(world.secret, BODY);
    expect(await check(world.appid, old, NOW + 59)).toMatchObject({ ok: true });
    expect(await check(world.appid, old, NOW + 60)).toEqual({ ok: false, reason: "signature_mismatch" });
  });
});
