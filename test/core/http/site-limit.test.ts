import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { CountedLimit } from "../../support/counted-limit.ts";
import { expectUnwritten } from "../../support/signed-routes.ts";
import { type Answer, hmac, World } from "../../support/world.ts";

const LIMITED = { code: -1, msg: "请求过于频繁", data: "" };

function expectLimited({ status, envelope, headers }: Answer): void {
  expect([status, envelope, headers.get("retry-after")]).toEqual([429, LIMITED, "10"]);
}

/** An isolate with a limit of sites, and three callers: two apps of one site, and an app of another site. */
async function callers(most: number, ofApps?: RateLimit) {
  // The site is not in main: there a statement that wrongly asks the directory would work by accident.
  const home = "apac";
  const limit = new CountedLimit(most);
  const isolate = await World.create({ SITE_LIMIT: limit, APP_LIMIT: ofApps }, home);
  const honest = await World.create({}, home);
  const issued = await isolate.admin("POST", `/admin/sites/${isolate.siteId}/apps`, { name: "Second" });
  const { appid, secret } = await issued.json<{ appid: string; secret: string }>();
  const caller = (app: { appid: string; secret: string }) => {
    const sign = (change = {}) => JSON.stringify(isolate.createBody({ appid: app.appid, ...change }));
    const send = async (text: string) =>
      isolate.sendRaw("create_gd", text, { "x-chat-signature": await hmac(app.secret, text) });
    return { sign, send, create: (change = {}) => send(sign(change)) };
  };
  return {
    limit,
    isolate,
    honest: { ...caller(honest), siteId: honest.siteId },
    first: caller({ appid: isolate.appid, secret: isolate.secret }),
    second: caller({ appid, secret }),
  };
}

describe("the limit of a site", () => {
  it("the limit of a site counts all its apps together under the site's id, whatever the result", async () => {
    const { limit, isolate, first, second, honest } = await callers(100);
    expect((await first.create()).status).toBe(200);
    expect((await second.create()).status).toBe(200);
    expect((await second.create({ kefu_id: [1, 404] })).status).toBe(400);
    expect((await honest.create()).status).toBe(200);
    expect(limit.keys).toEqual([...Array(3).fill(`site ${isolate.siteId}`), `site ${honest.siteId}`]);
  });

  it("the limit of a site counts no replay, no wrong signature and no bad field", async () => {
    const { limit, isolate, first } = await callers(100);
    const captured = first.sign();
    await first.send(captured);
    limit.keys.length = 0;
    for (const other of [isolate, isolate.anotherIsolate()]) {
      const headers = { "x-chat-signature": await hmac(isolate.secret, captured) };
      for (let i = 0; i < 5; i++) expect((await other.sendRaw("create_gd", captured, headers)).status).toBe(401);
      expect((await other.create({}, { "x-chat-signature": "0".repeat(64) })).status).toBe(401);
      expect((await other.create({ content: "" })).status).toBe(400);
    }
    expect(limit.keys).toEqual([]);
  });

  it("an exceeded limit of a site refuses all its apps, uses up no ranstr, and leaves another site alone", async () => {
    const { limit, isolate, first, second, honest } = await callers(2);
    // The third request exceeds the limit, and the isolate remembers the excess.
    for (const app of [first, second, first]) expect((await app.create()).status).toBe(200);
    const texts = [first.sign(), second.sign()] as const;
    await expectUnwritten(isolate, async () => {
      expectLimited(await first.send(texts[0]));
      expectLimited(await second.send(texts[1]));
    });
    expect(limit.keys).toHaveLength(3);
    const flood = Array.from({ length: 6 }, (_, i) => (i % 2 === 0 ? first : second).create());
    const answers = await Promise.all([honest.create(), ...flood, honest.create()]);
    expect([answers.at(0)?.status, answers.at(-1)?.status]).toEqual([200, 200]);
    for (const answer of answers.slice(1, -1)) expectLimited(answer);
    limit.most = 1_000;
    isolate.clock.now += 1;
    expect((await first.send(texts[0])).status).toBe(200);
    expect((await second.send(texts[1])).status).toBe(200);
    expect((await isolate.stored()).sessions).toHaveLength(5);
  });

  it("an app that exceeds its own limit does not use up the limit of its site", async () => {
    const { first, second } = await callers(100, new CountedLimit(1));
    for (const app of [first, first, second]) expect((await app.create()).status).toBe(200);
    expectLimited(await first.create());
    expect((await second.create()).status).toBe(200);
  });
});

it("the platform counts sites by wrangler.toml", async () => {
  const { success } = await env.SITE_LIMIT.limit({ key: `site ${crypto.randomUUID()}` });
  expect(success).toBe(true);
});
