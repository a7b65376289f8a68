import { replacing } from "./replacing.ts";

/** KV at a location that sees no change: it caches its first read of each key for ever, also a miss. */
export function staleKv(kv: KVNamespace): KVNamespace {
  const known = new Map<string, unknown>();
  return replacing(kv, {
    get: async (key: string, options: { type: "json" }) => {
      if (!known.has(key)) known.set(key, await kv.get(key, options));
      return known.get(key);
    },
  });
}
