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

/** Puts and reads one value. */
async function roundTrip(kv: KVNamespace, value: string) {
  await kv.put("key", value);
  return [await kv.get("key"), await kv.get(["key"])];
}

/**
 * Rules that need neither time nor a second location. test/simulation/platform/kv.test.ts has the stand-in's rules for
 * those.
 */
export const kvCases: Cases<KVNamespace> = {
  "a key that was never put is null": async (kv) => [
    await kv.get("none"),
    await kv.get("none", "text"),
    await kv.get("none", "json"),
    await kv.get("none", { type: "json", cacheTtl: 60 }),
  ],
  "text comes back as it was put": (kv) => roundTrip(kv, "王伟 🙂\n\0 é "),
  "an empty text is not a miss": (kv) => roundTrip(kv, ""),
  "put, delete and get answer as promises of nothing but the value": async (kv) => [
    await kv.put("key", "a"),
    await kv.get("key"),
    await kv.delete("key"),
    await kv.get("key"),
  ],
  "a put replaces": async (kv) => {
    await kv.put("key", "old");
    await kv.put("key", "new");
    return kv.get("key");
  },
  "a put after a delete is there": async (kv) => {
    await kv.put("key", "old");
    await kv.delete("key");
    await kv.put("key", "new");
    return kv.get("key");
  },
  "a delete of what is not there does nothing": async (kv) => [await kv.delete("none"), await kv.get("none")],
  "keys are apart, whatever is in them": async (kv) => {
    const odd = ["a", "A", "a ", "a/b", "a%2Fb", "a?b=c", "é", "e\u0301", "...", "🙂", "a\0b"];
    for (const key of odd) await kv.put(key, `of ${key}`);
    return [await Promise.all(odd.map((key) => kv.get(key))), await kv.get(odd)];
  },
  "JSON is parsed": async (kv) => {
    await kv.put("key", '{"b":1,"a":[null,true,"x"]}');
    return [await kv.get("key", "json"), await kv.get("key", { type: "json" }), await kv.get(["key"], "json")];
  },
  "JSON may be null, which reads as a miss": async (kv) => {
    await kv.put("key", "null");
    return [await kv.get("key", "json"), await kv.get(["key"], "json")];
  },
  "what is no JSON rejects": async (kv) => {
    await kv.put("key", "{");
    return howItFails(() => kv.get("key", "json"));
  },
  "empty text is no JSON": async (kv) => {
    await kv.put("key", "");
    return howItFails(() => kv.get("key", "json"));
  },
  "one value that is no JSON rejects the whole read": async (kv) => {
    await kv.put("good", "1");
    await kv.put("bad", "{");
    return howItFails(() => kv.get(["good", "bad"], "json"));
  },
  "several keys are read into a Map, in their order, with null for a miss": async (kv) => {
    await kv.put("b", "of b");
    await kv.put("a", "of a");
    return kv.get(["b", "none", "a"]);
  },
  "a key asked for twice is once in the Map": async (kv) => {
    await kv.put("a", "of a");
    return kv.get(["none", "a", "none", "a"]);
  },
  "100 keys can be read at once": async (kv) => (await kv.get(keys(100))).size,
  "101 keys cannot": (kv) => howItFails(() => kv.get(keys(101))),
  "no key at all cannot be read": (kv) => howItFails(() => kv.get([])),
  "a read may be cached for 30 s": (kv) => kv.get("key", { cacheTtl: 30 }),
  "a read cannot be cached for less": (kv) => howItFails(() => kv.get("key", { cacheTtl: 29 })),
  "nor can a read of several keys": (kv) => howItFails(() => kv.get(["key"], { cacheTtl: 29 })),
  "a value may expire in 60 s": async (kv) => [await kv.put("key", "a", { expirationTtl: 60 }), await kv.get("key")],
  "a value cannot expire sooner": async (kv) => [
    await howItFails(() => kv.put("key", "a", { expirationTtl: 59 })),
    await howItFails(() => kv.put("key", "a", { expirationTtl: 0 })),
    await kv.get("key"),
  ],
  "a key is not empty": async (kv) => [
    await howItFails(() => kv.get("")),
    await howItFails(() => kv.put("", "a")),
    await howItFails(() => kv.delete("")),
  ],
  "a key is not a dot": async (kv) => [
    await howItFails(() => kv.get(".")),
    await howItFails(() => kv.put(".", "a")),
    await howItFails(() => kv.delete(".")),
  ],
  "a key is not two dots": async (kv) => [
    await howItFails(() => kv.get("..")),
    await howItFails(() => kv.put("..", "a")),
    await howItFails(() => kv.delete("..")),
  ],
  "a key that cannot be is refused among others too": async (kv) => [
    await howItFails(() => kv.get(["key", ""])),
    await howItFails(() => kv.get(["key", "."])),
    await howItFails(() => kv.get([`${LONGEST}k`, "key"])),
  ],
  "a list has the keys of a prefix in the order of their bytes, with what they were put with": async (kv) => {
    for (const key of ["p:b", "p:a", "p:é", "p:Z", "q:a", "p:10", "p:9"]) await kv.put(key, "", { metadata: [key, 1] });
    await kv.put("p:plain", "value");
    return [await kv.list({ prefix: "p:" }), await kv.list({ prefix: "none" })];
  },
  "a list has metadata of the last put": async (kv) => {
    await kv.put("p:a", "", { metadata: { old: true } });
    await kv.put("p:a", "");
    await kv.put("p:b", "", { metadata: null });
    await kv.put("p:c", "", { metadata: [1, 2, 3] });
    await kv.delete("p:c");
    return kv.list({ prefix: "p:" });
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
  "a list may be cut short": async (kv) => {
    for (const key of ["p:2", "p:1", "p:3"]) await kv.put(key, "");
    const { keys, list_complete } = await kv.list({ prefix: "p:", limit: 1 });
    const whole = await kv.list({ prefix: "p:", limit: 3 });
    return { keys, list_complete, whole };
  },
  "metadata has at most 1,024 bytes": async (kv) => [
    await kv.put("key", "", { metadata: "m".repeat(1_022) }),
    await howItFails(() => kv.put("key", "", { metadata: "m".repeat(1_023) })),
  ],
  "a key may have 512 bytes": async (kv) => {
    await kv.put(LONGEST, "a");
    return [await kv.get(LONGEST), await kv.get("é".repeat(256))];
  },
  "a key cannot have more": async (kv) => [
    await howItFails(() => kv.get(`${LONGEST}k`)),
    await howItFails(() => kv.put(`${LONGEST}k`, "a")),
    await howItFails(() => kv.delete(`${LONGEST}k`)),
    await howItFails(() => kv.get("é".repeat(257))),
  ],
};
