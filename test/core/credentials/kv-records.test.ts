import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { AppRecord } from "../../../src/core/credentials/find-app.ts";
import { readRecords } from "../../../src/core/credentials/kv-records.ts";
import { replacing } from "../../support/replacing.ts";

const recordFor = (appid: string): AppRecord => ({
  appid,
  siteId: 1,
  home: "apac",
  version: "a",
  secret: "v2.00000000.x.y",
  revokedAt: null,
  previousVersion: null,
  previousSecret: null,
  previousExpiresAt: null,
  events: false,
});
const put = (appid: string, value: unknown) => env.CREDENTIALS.put(`app:${appid}`, JSON.stringify(value));

describe("the records of many apps", () => {
  it("the records of many apps are read from KV a hundred at a time", async () => {
    const appids = Array.from({ length: 201 }, (_, i) => `bulk-${i}`);
    for (const i of [0, 99, 100, 200]) await put(`bulk-${i}`, recordFor(`bulk-${i}`));
    const keyCounts: number[] = [];
    const kv = replacing(env.CREDENTIALS, {
      get: (keys: string[], type: "json") => {
        keyCounts.push(keys.length);
        return env.CREDENTIALS.get(keys, type);
      },
    });
    const records = await readRecords(kv, appids);
    expect([...records]).toEqual([0, 99, 100, 200].map((i) => [`bulk-${i}`, recordFor(`bulk-${i}`)]));
    expect(keyCounts).toEqual([100, 100, 1]);
  });

  it("the records of many apps do not include missing or damaged records", async () => {
    await put("whole", recordFor("whole"));
    await put("of-another", recordFor("whole"));
    await put("without-a-home", { ...recordFor("without-a-home"), home: undefined });
    await put("empty", {});
    const records = await readRecords(env.CREDENTIALS, ["missing", "of-another", "without-a-home", "empty", "whole"]);
    expect([...records.keys()]).toEqual(["whole"]);
  });

  it("without KV there are no records of apps, and KV is not asked for an empty list", async () => {
    const throwFault = () => {
      throw new Error("KV was asked");
    };
    expect(await readRecords(undefined, ["whole"])).toEqual(new Map());
    expect(await readRecords(replacing(env.CREDENTIALS, { get: throwFault }), [])).toEqual(new Map());
  });

  it("the records of many apps are unavailable when KV fails", async () => {
    const kv = replacing(env.CREDENTIALS, { get: () => Promise.reject(new Error("KV is down")) });
    await expect(readRecords(kv, ["whole"])).rejects.toMatchObject({
      code: "unavailable",
      context: { reason: "kv_unavailable" },
    });
  });
});
