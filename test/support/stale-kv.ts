import { replacing } from "./replacing.ts";

/** KV at a location that sees no change: it caches its first read of each key for ever, also a miss. */
export function staleKv(kv: KVNamespace): KVNamespace {
  const staleValues = new Map<string, unknown>();
  return replacing(kv, {
    get: async (key: string, options: { type: "json" }) => {
      if (!staleValues.has(key)) staleValues.set(key, await kv.get(key, options));
      return staleValues.get(key);
    },
  });
}
