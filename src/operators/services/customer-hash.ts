import { type Keyring, seal, sealMark, UnsealError, unseal } from "../../core/credentials/sealed-secret.ts";
import { ServiceError } from "../../core/errors.ts";
import { withRetries } from "../../core/store/run-batch.ts";
import {
  type HashKeyRow,
  insertHashKey,
  selectHashKeys,
  updateHashKey,
} from "../store/directory/customer-hash-keys.ts";
import { type KeptHashKey, readHashKeys, writeHashKey } from "../store/kv-erasures.ts";
import { haveOtherSeals } from "./other-seals.ts";
import { fromKv } from "./remember-floors.ts";
import { type KeyringTools, keyringOf, requireOpenDirectory, type ServiceContext } from "./service-context.ts";

/**
 * This file makes hashes of customers' external ids, for logs that are kept longer than the customer's data. They are keyed: without the
 * key nobody can try ids until one fits. The key is drawn once for a deployment.
 */

const encoder = new TextEncoder();

/** Makes a hash, which also names its key: `<id of the key>.<HMAC-SHA256 in hex>`. */
export type Hasher = (siteId: number, externalId: string) => Promise<string>;

const ownerOf = (id: string) => ({ siteId: 0, version: id, purpose: "customer hashes" });

/**
 * The hasher of this deployment. Draws its key at the first use. KV gets a copy of the key before anything is hashed with it, because a
 * restore may remove the key from the directory.
 *
 * @throws ServiceError `unavailable` when the directory is closed, or it or KV does not answer; with the reason `hash_key_unopened`, when
 *   no master key here opens the existing key, or an app's secret before the first key is drawn
 */
export async function customerHasher(ctx: KeyringTools): Promise<Hasher> {
  requireOpenDirectory(ctx);
  const keyring = await keyringOf(ctx);
  const readStoredKeys = async () => {
    const rows = await withRetries(ctx.runtime, () => selectHashKeys(ctx.config.directory), ctx.answerBy);
    return { rows, opened: await firstOpened(keyring, rows) };
  };
  const { rows, ...first } = await readStoredKeys();
  let { opened } = first;
  if (opened === undefined) {
    await storeKey(ctx, keyring, rows.length);
    ({ opened } = await readStoredKeys());
  }
  if (opened === undefined) throw unopenedKey();
  if (opened.row.keptAt === null) await keepKey(ctx, opened.row);
  return opened.hasher;
}

const unopenedKey = () =>
  new ServiceError("unavailable", {
    reason: "hash_key_unopened",
    detail:
      "No MASTER_KEY here opens the key of customers' hashes, or all apps. Send it again when a new MASTER_KEY is deployed everywhere.",
    retryAfter: 30,
  });

/** The keys in the directory and those in KV. A restored directory may have lost its own. */
async function allKeys(ctx: ServiceContext): Promise<KeptHashKey[]> {
  const storedKeys = await withRetries(ctx.runtime, () => selectHashKeys(ctx.config.directory));
  return [...storedKeys, ...(await readHashKeys(ctx.config.credentials, fromKv(ctx)))];
}

/** The hasher of this deployment; undefined when no known key opens. Draws no key, so it works while the directory is closed. */
export async function knownHasher(ctx: ServiceContext): Promise<Hasher | undefined> {
  const keyring = await keyringOf(ctx);
  return (await firstOpened(keyring, await allKeys(ctx)))?.hasher;
}

/** Whether a hash is that of a customer; undefined when its key is no longer known. */
export type HashCheck = (hash: string, siteId: number, externalId: string) => Promise<boolean | undefined>;

/** Checks hashes made with any key that opens. */
export async function hashCheck(ctx: ServiceContext): Promise<HashCheck> {
  const keyring = await keyringOf(ctx);
  const rows = await allKeys(ctx);
  return async (hash, siteId, externalId) => {
    const keys = rows.filter(({ id }) => hash.startsWith(`${id}.`));
    const hashOfOpenedKey = await (await firstOpened(keyring, keys))?.hasher(siteId, externalId);
    return hashOfOpenedKey === undefined ? undefined : hashOfOpenedKey === hash;
  };
}

/**
 * Gives a restored directory its key back from KV, or draws a key. No key is drawn while there is one that does not open: a new MASTER_KEY
 * may not have reached this isolate yet.
 */
async function storeKey(ctx: KeyringTools, keyring: Keyring, known: number): Promise<void> {
  const { runtime, config, now } = ctx;
  const askKv = fromKv(ctx);
  const insert = (row: HashKeyRow) =>
    withRetries(runtime, () => insertHashKey(config.directory, row, known), ctx.answerBy);
  const rowsOfKv = await readHashKeys(config.credentials, askKv);
  const opened = await firstOpened(keyring, rowsOfKv);
  if (opened !== undefined) return insert({ ...opened.row, keptAt: now });
  // A key sealed with a wrong MASTER_KEY would be lost with it.
  if (known + rowsOfKv.length > 0 || (await haveOtherSeals(ctx, ctx.answerBy)) !== false) throw unopenedKey();
  const id = runtime.bytes(4).toHex();
  const sealed = await seal(runtime, keyring, ownerOf(id), "current", runtime.bytes(32).toHex());
  await insert({ id, sealed, createdAt: now, keptAt: null });
}

/** Copies the key to KV. Without KV, the key is in the directory alone. */
async function keepKey(ctx: KeyringTools, row: HashKeyRow): Promise<void> {
  const { runtime, config, now, answerBy } = ctx;
  if (config.credentials === undefined) return;
  await fromKv(ctx)(() => writeHashKey(config.credentials, row));
  await withRetries(runtime, () => updateHashKey(config.directory, row, { keptAt: now }), answerBy);
}

/** The most queries of D1 of {@link resealHashKeys}, when only one key was drawn. */
export const HASH_KEY_QUERIES = 2;

/**
 * Seals the keys again with the newest master key, first in KV, which may have keys that a restored directory has lost. Keys that no master
 * key opens stay as they are: they are not in use.
 *
 * @returns how many were sealed again
 * @throws ServiceError `unavailable` when KV does not answer; any error of D1
 */
export async function resealHashKeys(ctx: ServiceContext): Promise<number> {
  const { directory, credentials } = ctx.config;
  const keyring = await keyringOf(ctx);
  let resealed = 0;
  const storedKeys = await selectHashKeys(directory);
  const rowsOfKv = await readHashKeys(credentials, fromKv(ctx));
  const lost = rowsOfKv.filter(({ id }) => !storedKeys.some((row) => row.id === id));
  for (const row of [...storedKeys, ...lost.map((each) => ({ ...each, keptAt: null }))]) {
    const hex = row.sealed.startsWith(sealMark(keyring)) ? undefined : await secretOf(keyring, row);
    if (hex === undefined) continue;
    const sealed = await seal(ctx.runtime, keyring, ownerOf(row.id), "current", hex);
    await fromKv(ctx)(() => writeHashKey(credentials, { ...row, sealed }));
    if (lost.some(({ id }) => id === row.id) || (await updateHashKey(directory, row, { sealed }))) resealed++;
  }
  return resealed;
}

/** The key in hex; undefined when no master key opens it. */
async function secretOf(keyring: Keyring, { id, sealed }: KeptHashKey): Promise<string | undefined> {
  try {
    return await unseal(keyring, ownerOf(id), "current", sealed);
  } catch (error) {
    if (!(error instanceof UnsealError)) throw error;
    return undefined;
  }
}

/** The first key that can be opened, with its hasher. */
export async function firstOpened<Row extends KeptHashKey>(
  keyring: Keyring,
  rows: Row[],
): Promise<{ row: Row; hasher: Hasher } | undefined> {
  for (const row of rows) {
    const hex = await secretOf(keyring, row);
    if (hex === undefined) continue;
    const algorithm = { name: "HMAC", hash: "SHA-256" };
    const key = await crypto.subtle.importKey("raw", Uint8Array.fromHex(hex), algorithm, false, ["sign"]);
    const hasher: Hasher = async (siteId, externalId) => {
      const mac = await crypto.subtle.sign("HMAC", key, encoder.encode(`${siteId}:${externalId}`));
      return `${row.id}.${new Uint8Array(mac).toHex()}`;
    };
    return { row, hasher };
  }
  return undefined;
}
