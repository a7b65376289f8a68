import { type Cases, errorOf } from "../case.ts";

const LONGEST = ["k".repeat(512), "é".repeat(256)];
const ODD = ["a", "A", "a ", "a/b", "a%2Fb", "a?b=c", "é", "e\u0301", "...", "🙂", "a\0b", ...LONGEST];

/** Rules that need neither time nor a second location: platform/kv.test.ts has those. */
export const kvCases: Cases<KVNamespace> = {
  "get() returns the text of the last put, also an empty one, and null for a missing key": async (kv) => {
    const read = [await kv.get("key"), await kv.get("key", { type: "json", cacheTtl: 30 })];
    for (const value of ["old", "王伟 🙂\n\0 é ", ""]) {
      await kv.put("key", value, { expirationTtl: 60 });
      read.push(await kv.get("key"), await kv.get("key", "text"), await kv.get(["key"], "text"));
    }
    return read;
  },
  "keys with special characters are distinct, and get() of several keys returns a Map in their order": async (kv) => {
    for (const key of ODD) await kv.put(key, `of ${key}`);
    return [await Promise.all(ODD.map((key) => kv.get(key))), await kv.get([...ODD, "none", "A"], "text")];
  },
  "get() as JSON parses the value, returns null for a stored null, and rejects for other text": async (kv) => {
    const read: unknown[] = [];
    for (const value of ['{"b":1,"a":[null,true,"x"]}', "null"]) {
      await kv.put("key", value);
      read.push(await kv.get("key", { type: "json", cacheTtl: 3_600 }));
    }
    await kv.put("key", "{");
    return [read, (await errorOf(() => kv.get("key", "json"))).name];
  },
  "list() returns the keys of a prefix in the order of their bytes, with the metadata of the last put": async (kv) => {
    for (const key of ["p:b", "p:a", "p:é", "p:Z", "q:a", "p:10", "p:9"]) await kv.put(key, "", { metadata: [key, 1] });
    await kv.put("p:a", "");
    const { keys: cut, list_complete } = await kv.list({ prefix: "p:", limit: 1 });
    return [await kv.list({ prefix: "p:", cursor: null }), await kv.list({ prefix: "none" }), cut, list_complete];
  },
  "list() of more than 1,000 keys continues at the cursor": async (kv) => {
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
