import { replacing } from "./replacing.ts";

/** KV as an edge sees it that has not heard of any change: what it first read of a key, a miss too, it reads for ever. */
export function staleKv(kv: KVNamespace): KVNamespace {
  const known = new Map<string, unknown>();
  return replacing(kv, {
    get: async (key: string, options: { type: "json" }) => {
      if (!known.has(key)) known.set(key, await kv.get(key, options));
      return known.get(key);
    },
  });
}
