import type { AskKv } from "./kv-floors.ts";

/**
 * This file stores the deletions of sites in KV, because a restore of D1 does not undo them there. Keys:
 * `site-deletions:<home>:<site>:<deletion id>`; the metadata holds the rest.
 */

/** How long KV keeps a deletion: a day longer than Time Travel reaches back. */
const KEPT_SECONDS = 31 * 86_400;

/** The deletion of a site, as KV has it. Somebody who can write to KV could make one up: `hash` shows that the Worker wrote it. */
export interface KeptDeletion {
  siteId: number;
  id: string;
  begunAt: number;
  hash: string;
}

const prefixOf = (home: string) => `site-deletions:${home}:`;

export async function writeSiteDeletion(
  kv: KVNamespace | undefined,
  home: string,
  { siteId, id, ...metadata }: KeptDeletion,
): Promise<void> {
  await kv?.put(`${prefixOf(home)}${siteId}:${id}`, "", { expirationTtl: KEPT_SECONDS, metadata });
}

/** The deletions of a home's sites that KV has. Damaged entries are left out. @throws any error of `askKv` */
export async function listSiteDeletions(
  kv: KVNamespace | undefined,
  home: string,
  askKv: AskKv,
): Promise<KeptDeletion[]> {
  const keptDeletions: KeptDeletion[] = [];
  if (kv === undefined) return keptDeletions;
  const prefix = prefixOf(home);
  for (let cursor: string | null | undefined = null; cursor !== undefined; ) {
    const listOptions: { prefix: string; cursor: string | null } = { prefix, cursor };
    const page: KVNamespaceListResult<Partial<KeptDeletion>> = await askKv(() =>
      kv.list<Partial<KeptDeletion>>(listOptions),
    );
    for (const { name, metadata } of page.keys) {
      const [siteId, id = ""] = name.slice(prefix.length).split(":");
      const { hash, begunAt } = metadata ?? {};
      if (typeof hash !== "string" || !Number.isSafeInteger(begunAt) || !Number.isSafeInteger(Number(siteId))) continue;
      keptDeletions.push({ siteId: Number(siteId), id, hash, begunAt: Number(begunAt) });
    }
    cursor = page.list_complete ? undefined : page.cursor;
  }
  return keptDeletions;
}
