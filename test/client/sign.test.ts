import { describe, expect, it } from "vitest";
import { prepare, sign } from "../../src/client/sign.ts";
import { hmac } from "../support/hmac.ts";

// biome-ignore lint/suspicious/noSparseArray: the hole is the test's input.
const sparse = [1, , 2];
const APP = { appid: "app", secret: "secret" };

describe("sign", () => {
  it("sign makes the signature of the contract's public documentation", async () => {
    const body =
      '{"appid":"1b621280becdb0fa3d3e041ff69e1e1f","sbs":"1001","timestamp":1767772879,"ranstr":"4ad0faec14a58112","kefu_id":"10078","ip":""}';
    const expected = "3fe1d90717d63866edb34f803e33d72bcee7aa197e380bf79f4fd674aedb6f0c";
    expect(await sign("YOUR_APP_SECRET", body)).toBe(expected);
    expect(await sign("YOUR_APP_SECRET", new TextEncoder().encode(body))).toBe(expected);
  });

  it("sign makes the signature of RFC 4231, test case 2", async () => {
    expect(await sign("Jefe", "what do ya want for nothing?")).toBe(
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
    );
  });

  it("sign takes a secret longer than HMAC's block", async () => {
    const secret = "a".repeat(131);
    expect(await sign(secret, "body")).toBe(await hmac(secret, "body"));
  });

  it("sign signs only the view's bytes, not the whole buffer", async () => {
    const view = new TextEncoder().encode("xxJefe's bodyxx").subarray(2, 13);
    expect(await sign("Jefe", view)).toBe(await hmac("Jefe", "Jefe's body"));
  });

  it("sign takes text as UTF-8 and refuses text that UTF-8 cannot carry", async () => {
    expect(await sign("密钥", "王伟")).toBe(await hmac("密钥", "王伟"));
    await expect(sign("secret", "a\ud800b")).rejects.toThrow(TypeError);
  });

  it("sign refuses an empty secret", async () => {
    await expect(sign("", "body")).rejects.toThrow(TypeError);
  });
});

describe("prepare", () => {
  it("prepare fills in appid, timestamp and ranstr, and signs exactly the text that it returns", async () => {
    const before = Math.floor(Date.now() / 1000);
    const { body, signature } = await prepare(APP, { sbs_mc: "王伟" });
    expect(signature).toBe(await hmac("secret", body));
    expect(body).toContain('"sbs_mc":"王伟"');
    const { timestamp, ranstr, ...rest } = JSON.parse(body);
    expect(rest).toEqual({ appid: "app", sbs_mc: "王伟" });
    expect(timestamp).toBeGreaterThanOrEqual(before);
    expect(timestamp).toBeLessThanOrEqual(Math.floor(Date.now() / 1000));
    expect(JSON.parse((await prepare(APP, {})).body).ranstr).not.toBe(ranstr);
  });

  it("prepare keeps a given timestamp and ranstr, and omits a field given as undefined", async () => {
    const { body } = await prepare(APP, { ranstr: "r", timestamp: undefined, appid: "other", a: undefined, b: null });
    expect(body).toBe('{"appid":"other","ranstr":"r","b":null}');
  });

  it("prepare serialises as JSON.stringify does", async () => {
    const fields = {
      text: 'a"\\\n\u2028\ud800😀',
      list: [1, -0, 1.5, 1e-7, [], {}, true, null],
      nested: { "日 本": "x", gone: undefined },
      when: new Date(0),
    };
    const required = { appid: "a", timestamp: 1, ranstr: "r" };
    expect((await prepare(APP, { ...required, ...fields })).body).toBe(JSON.stringify({ ...required, ...fields }));
  });

  it("prepare writes a bigint digit by digit, in lists too", async () => {
    const { body } = await prepare(APP, { sbs: 123456789012345678901234567890n, ids: [2n ** 64n] });
    expect(body).toContain('"sbs":123456789012345678901234567890,"ids":[18446744073709551616]}');
  });

  it.each([
    ["n", { n: 2 ** 53 }],
    ["n", { n: Number.NaN }],
    ["a.b[1]", { a: { b: [1, -(2 ** 60)] } }],
    ["f", { f: () => 1 }],
    ["a[0]", { a: [undefined] }],
    ["a[1]", { a: sparse }],
    ["a.b[0]", { a: { b: new Array(3) } }],
  ])("prepare refuses at %s a value that JSON cannot carry exactly", async (path, fields) => {
    await expect(prepare(APP, fields)).rejects.toThrow(TypeError);
    await expect(prepare(APP, fields)).rejects.toThrow(`${path}: `);
  });
});
