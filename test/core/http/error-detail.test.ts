import { env } from "cloudflare:workers";
import { Hono } from "hono";
import { beforeAll, describe, expect, it } from "vitest";
import { answerRefusal } from "../../../src/core/http/envelope.ts";
import type { App } from "../../../src/core/http/request-context.ts";
import { refused } from "../../../src/core/result.ts";
import { replacing } from "../../support/replacing.ts";
import { type Answer, type Body, NOW, World } from "../../support/world.ts";

describe("x-error-detail", () => {
  let world: World;
  beforeAll(async () => {
    world = await World.create();
  });

  const MARK = "ZEBRA漢";
  const MARKED: Body = { sbs: null, ip: MARK, sbs_mc: MARK.repeat(9), content: 7, title: "", [MARK]: MARK };

  it.each([
    ["of create_gd", "create_gd", { ...MARKED, kefu_id: [MARK], fzr_uid: MARK, sender_type: MARK }],
    ["of add_kf", "add_kf", { ...MARKED, chat_id: MARK, kefu_ids: MARK }],
    ["of add_kf's array", "add_kf", { chat_id: [MARK], kefu_ids: [{ [MARK]: MARK }] }],
    ["of an array of strings", "create_gd", { kefu_id: [1, MARK] }],
    ["of add_kf's text", "add_kf", { kefu_ids: `1，${MARK},${MARK}` }],
    ["of metadata's names", "create_gd", { metadata: { a: "", [MARK]: MARK } }],
    ["of metadata's values", "create_gd", { metadata: { ZEBRA: MARK.repeat(200) } }],
    ["of timestamp and ranstr", "create_gd", { timestamp: MARK, ranstr: [MARK] }],
    ["about freshness", "add_kf", { timestamp: NOW + 301, [MARK]: MARK }],
  ] as const)("x-error-detail is ASCII and repeats nothing that the caller sent: %s", async (_, operation, change) => {
    const body = { ...(operation === "create_gd" ? world.createBody() : world.addBody(1)), ...change };
    const { headers } = await world.send(operation, body);
    const detail = headers.get("x-error-detail") ?? "";
    expect(detail).toMatch(/^[\x20-\x7e]{10,}$/);
    expect(detail).not.toContain("ZEBRA");
  });

  it("x-error-detail names every wrong field once", async () => {
    const { headers } = await world.create({ sbs: "", ip: undefined, kefu_id: ["1", "2"], fzr_uid: 0, sender_type: 4 });
    expect(headers.get("x-error-detail")?.split("; ")).toEqual([
      "sbs: must be a string of 1 to 64 characters, or an integer of 1 to 64 digits",
      "ip: is required",
      "kefu_id: item 1 must be an integer from 1 to 9007199254740991, not a string",
      "fzr_uid: must be an integer from 1 to 9007199254740991",
      "sender_type: must be the integer 1, 2 or 3",
    ]);
  });

  it("x-error-detail names only the first wrong item of a list, and fits into a header for every proxy", async () => {
    const chatId = await world.chatId();
    const wrong = [
      Array(10_000).fill("x"),
      Array(20_000).fill(0),
      Array(100)
        .keys()
        .map((id) => 2 ** 52 + id)
        .toArray(),
    ];
    for (const ids of wrong) {
      for (const answer of [await world.create({ kefu_id: ids }), await world.add(chatId, { kefu_ids: ids })]) {
        expect(answer.envelope.code).toBe(-1);
        expect(answer.headers.get("x-error-detail")?.length).toBeLessThan(3_100);
      }
    }
  });

  it("x-error-detail is missing without a valid signature, whatever else is wrong", async () => {
    const body = JSON.stringify(world.createBody({ timestamp: null, sbs: null }));
    const { status, headers } = await world.sendRaw("create_gd", body, { "x-chat-signature": "0".repeat(64) });
    expect(status).toBe(401);
    expect(headers.has("x-error-detail")).toBe(false);
  });

  it("x-error-detail is missing for a revoked app that the isolate still has as valid", async () => {
    const operator = await World.create();
    const changes = [{ sbs: null }, { ranstr: "" }, { timestamp: NOW - 301 }];
    const outdatedIsolates = changes.map((change) => ({ change, isolate: operator.anotherIsolate() }));
    for (const { isolate } of outdatedIsolates) await isolate.chatId();
    await operator.admin("DELETE", `/admin/apps/${operator.appid}`);
    const visibleParts = ({ status, envelope, headers }: Answer) => {
      const { "x-request-id": _id, ...others } = Object.fromEntries(headers);
      return { status, envelope, others };
    };
    for (const { isolate, change } of outdatedIsolates) {
      const answer = await isolate.create(change);
      const forged = await isolate.create(change, { "x-chat-signature": "0".repeat(64) });
      expect([change, visibleParts(answer)]).toEqual([change, visibleParts(forged)]);
      expect(answer.status).toBe(401);
    }
  });

  it("x-error-detail is present for an app whose revocation a restore has undone", async () => {
    const restored = await World.create();
    await restored.admin("DELETE", `/admin/apps/${restored.appid}`);
    expect((await restored.create()).status).toBe(401);
    await env.DB.prepare("UPDATE apps SET revoked_at = NULL WHERE appid = ?").bind(restored.appid).run();
    const fresh = restored.anotherIsolate();
    expect((await fresh.create({ sbs: null })).headers.get("x-error-detail")).toMatch(/^sbs: /);
    expect((await fresh.create()).status).toBe(200);
  });

  it("x-error-detail does not wait for a database that does not answer", async () => {
    const isolate = world.anotherIsolate();
    await isolate.chatId();
    const prepare = () => {
      throw new Error("D1_ERROR: D1 DB is overloaded. Too many requests queued.");
    };
    Object.assign(isolate, { env: { ...isolate.env, DB: replacing(env.DB, { prepare }) } });
    const answer = await isolate.create({ sbs: null });
    expect([answer.status, answer.headers.get("x-error-detail")]).toEqual([400, expect.stringMatching(/^sbs: /)]);
  });

  it("x-error-detail is present only where the refusal allows it", async () => {
    const refusal = refused("invalid_parameters", "any", { violations: [{ field: "any", rule: "required" }] });
    const app = new Hono<App>();
    app.all("/:open", (c) => {
      c.set("trace", { requestId: "id" });
      return answerRefusal(c, c.req.param("open") === "open" ? { ...refusal, tellViolations: true } : refusal);
    });
    const detailOf = async (path: string) => (await app.request(path, {}, {})).headers.get("x-error-detail");
    expect(await detailOf("/held-back")).toBeNull();
    expect(await detailOf("/open")).toBe("any: is required");
  });
});
