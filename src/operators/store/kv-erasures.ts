import type { HashKeyRow } from "./directory/customer-hash-keys.ts";
import type { Receipt, ReceiptKey } from "./directory/erasure-receipts.ts";
import type { AskKv } from "./kv-floors.ts";

/**
 * This file stores data of erasures in KV, because a restore of D1 does not undo it there. Keys:
 * - `erasures:<home>:<site>:<erasure id>:<time of the list>:<first chat id>`: a part of a receipt; the value holds the chat ids, the
 *   metadata the rest;
 * - `customer-hash-key:<id>`: a key of the customers' hashes, sealed.
 */

/** How long a receipt is stored: a day longer than Time Travel reaches back. */
export const RECEIPT_SECONDS = 31 * 86_400;

const prefixOf = (home: string) => `erasures:${home}:`;
const keyOf = ({ home, siteId, erasureId, listedAt, firstChatId }: Omit<ReceiptKey, keyof ReceiptMetadata>) =>
  `${prefixOf(home)}${siteId}:${erasureId}:${listedAt}:${firstChatId}`;
const HASH_KEYS = "customer-hash-key:";

interface ReceiptMetadata {
  hash: string;
  until: number;
}

export async function writeReceipt(kv: KVNamespace | undefined, receipt: Receipt): Promise<void> {
  const metadata: ReceiptMetadata = { hash: receipt.hash, until: receipt.until };
  await kv?.put(keyOf(receipt), JSON.stringify(receipt.chatIds), { expirationTtl: RECEIPT_SECONDS, metadata });
}

/** A part as KV lists it. It has no hash when its metadata cannot be read, because somebody else has damaged it. */
export type ListedReceipt = Omit<ReceiptKey, keyof ReceiptMetadata> & Partial<ReceiptMetadata>;

/** The parts of a home's erasures that KV knows, without their chat ids. @throws any error of `askKv` */
export async function listReceipts(kv: KVNamespace | undefined, home: string, askKv: AskKv): Promise<ListedReceipt[]> {
  const listedReceipts: ListedReceipt[] = [];
  if (kv === undefined) return listedReceipts;
  const prefix = prefixOf(home);
  for (let cursor: string | null | undefined = null; cursor !== undefined; ) {
    const listOptions: { prefix: string; cursor: string | null } = { prefix, cursor };
    const page: KVNamespaceListResult<ReceiptMetadata> = await askKv(() => kv.list<ReceiptMetadata>(listOptions));
    for (const { name, metadata } of page.keys) {
      const [siteId, erasureId = "", listedAt, firstChatId] = name.slice(prefix.length).split(":");
      const list = { erasureId, listedAt: Number(listedAt), firstChatId: Number(firstChatId) };
      const isReadable = typeof metadata?.hash === "string" && Number.isSafeInteger(metadata.until);
      listedReceipts.push({ home, siteId: Number(siteId), ...list, ...(isReadable && metadata) });
    }
    cursor = page.list_complete ? undefined : page.cursor;
  }
  return listedReceipts;
}

/** The chat ids of a part; undefined when KV has lost it, or somebody else has damaged it. @throws any error of `askKv` */
export async function readReceipt(
  kv: KVNamespace | undefined,
  key: Omit<ReceiptKey, keyof ReceiptMetadata>,
  askKv: AskKv,
): Promise<number[] | undefined> {
  const text = kv && (await askKv(() => kv.get(keyOf(key), "text")));
  try {
    const value: unknown = JSON.parse(text ?? "");
    return Array.isArray(value) && value.every(Number.isSafeInteger) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A key of the customers' hashes, as KV has it. */
export type KeptHashKey = Omit<HashKeyRow, "keptAt">;

export async function writeHashKey(kv: KVNamespace | undefined, { id, sealed, createdAt }: KeptHashKey): Promise<void> {
  await kv?.put(`${HASH_KEYS}${id}`, sealed, { metadata: { createdAt } });
}

/** KV's keys of the customers' hashes, the newest first. @throws any error of `askKv` */
export async function readHashKeys(kv: KVNamespace | undefined, askKv: AskKv): Promise<KeptHashKey[]> {
  if (kv === undefined) return [];
  const { keys } = await askKv(() => kv.list<{ createdAt: number }>({ prefix: HASH_KEYS }));
  const rows: KeptHashKey[] = [];
  for (const { name, metadata } of keys) {
    const sealed = await askKv(() => kv.get(name, "text"));
    if (sealed !== null) rows.push({ id: name.slice(HASH_KEYS.length), sealed, createdAt: metadata?.createdAt ?? 0 });
  }
  return rows.sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1));
}
