import { type Cases, errorOf } from "../case.ts";

/** Whether a failing call throws at once or rejects later. Only a rejection reaches a `.catch`. */
async function howItFails(call: () => Promise<unknown>) {
  let answer: Promise<unknown>;
  try {
    answer = call();
  } catch (error) {
    return { throws: await errorOf(() => Promise.reject(error)) };
  }
  return { rejects: await errorOf(() => answer) };
}

const LONGEST = "k".repeat(512);
const keys = (count: number) => Array.from({ length: count }, (_, i) => `key ${i}`);
const json = { type: "json" } as const;

/** Calls that fail, by what is wrong. */
const REFUSED: Record<string, (kv: KVNamespace) => Promise<unknown>> = {
  "101 keys": (kv) => kv.get(keys(101)),
  "no key at all": (kv) => kv.get([]),
  "a cache of less than 30 s": (kv) => kv.get("key", { cacheTtl: 29 }),
  "a cache of less than 30 s for several keys": (kv) => kv.get(["key"], { cacheTtl: 29 }),
  "a value that expires in less than 60 s": (kv) => kv.put("key", "a", { expirationTtl: 59 }),
  "a value that expires at once": (kv) => kv.put("key", "a", { expirationTtl: 0 }),
  "metadata of more than 1,024 bytes": (kv) => kv.put("key", "", { metadata: "m".repeat(1_023) }),
  ...Object.fromEntries(
    ["", ".", "..", `${LONGEST}k`, "é".repeat(257)].flatMap((key) => [
      [`get of ${key.slice(0, 9)}`, (kv: KVNamespace) => kv.get(key)],
      [`put of ${key.slice(0, 9)}`, (kv: KVNamespace) => kv.put(key, "a")],
      [`delete of ${key.slice(0, 9)}`, (kv: KVNamespace) => kv.delete(key)],
      [`get of ${key.slice(0, 9)} and another`, (kv: KVNamespace) => kv.get([key, "key"])],
    ]),
  ),
};

/**
 * Rules that need neither time nor a second location. test/simulation/platform/kv.test.ts has the stand-in's rules for
 * those.
 */
export const kvCases: Cases<KVNamespace> = {
  "a key that was never put, or was deleted, is null": async (kv) => [
    await kv.get("none"),
    await kv.get("none", { ...json, cacheTtl: 30 }),
    [await kv.delete("none"), await kv.put("key", "a"), await kv.delete("key"), await kv.get("key")],
  ],
  "text comes back as it was put last, empty text too": async (kv) => {
    const read: unknown[] = [];
    for (const value of ["old", "王伟 🙂\n\0 é ", ""]) {
      read.push(await kv.put("key", value, { expirationTtl: 60 }), await kv.get("key"), await kv.get(["key"]));
    }
    return read;
  },
  "keys are apart, whatever is in them": async (kv) => {
    const odd = [
      "a",
      "A",
      "a ",
      "a/b",
      "a%2Fb",
      "a?b=c",
      "é",
      "e\u0301",
      "...",
      "🙂",
      "a\0b",
      LONGEST,
      "é".repeat(256),
    ];
    for (const key of odd) await kv.put(key, `of ${key}`);
    return [await Promise.all(odd.map((key) => kv.get(key))), await kv.get(odd)];
  },
  "JSON is parsed; null reads as a miss; what is no JSON rejects": async (kv) => {
    const read: unknown[] = [];
    for (const value of ['{"b":1,"a":[null,true,"x"]}', "null"]) {
      await kv.put("key", value);
      read.push(await kv.get("key", "json"), await kv.get("key", json), await kv.get(["key", "none"], "json"));
    }
    for (const value of ["{", ""]) {
      await kv.put("bad", value);
      read.push(await howItFails(() => kv.get("bad", "json")), await howItFails(() => kv.get(["key", "bad"], "json")));
    }
    return read;
  },
  "several keys are read into a Map: each once, in their order, with null for a miss": async (kv) => {
    for (const key of ["b", "a"]) await kv.put(key, `of ${key}`);
    return [await kv.get(["b", "none", "a", "b"]), (await kv.get(keys(100))).size];
  },
  "refuses what it cannot do, and does nothing": async (kv) => {
    const errors: [string, unknown][] = [];
    for (const [what, call] of Object.entries(REFUSED)) errors.push([what, await howItFails(() => call(kv))]);
    return [errors, await kv.get("key"), await kv.put("key", "", { metadata: "m".repeat(1_022) })];
  },
  "a list has the keys of a prefix in the order of their bytes, with metadata of the last put": async (kv) => {
    for (const key of ["p:b", "p:a", "p:é", "p:Z", "q:a", "p:10", "p:9"]) await kv.put(key, "", { metadata: [key, 1] });
    await kv.put("p:a", "");
    await kv.put("p:null", "", { metadata: null });
    await kv.delete("p:9");
    const { keys: cut, list_complete } = await kv.list({ prefix: "p:", limit: 1 });
    return [await kv.list({ prefix: "p:" }), await kv.list({ prefix: "none" }), cut, list_complete];
  },
  "a list of more than 1,000 keys goes on at its cursor": async (kv) => {
    for (let i = 0; i < 1_003; i++) await kv.put(`p:${i}`, "");
    const names: string[][] = [];
    for (let cursor: string | null = null; ; ) {
      const page: KVNamespaceListResult<unknown> = await kv.list({ prefix: "p:", cursor });
      names.push(page.keys.map(({ name }) => name));
      if (page.list_complete) return names;
      cursor = page.cursor;
    }
  },
};
