import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isRefusedFor } from "../../../src/core/errors.ts";
import { customerHasher, hashCheck } from "../../../src/operators/services/customer-hash.ts";
import { resealSecrets } from "../../../src/operators/services/reseal-secrets.ts";
import { selectHashKeys, updateHashKey } from "../../../src/operators/store/directory/customer-hash-keys.ts";
import { closedHomeVars } from "../../support/closed-home-vars.ts";
import { forgetHashKeys } from "../../support/customers.ts";
import { downDb } from "../../support/down-db.ts";
import { replacing } from "../../support/replacing.ts";
import { contextAt } from "../../support/service-context.ts";
import { NOW } from "../../support/world.ts";

/** A deployment has one key for the hashes of its customers: docs/operating/data-and-restore.md, "Was this one erased?" */

const OLD = env.MASTER_KEY;
const NEW = Uint8Array.fromBase64(OLD).toReversed().toBase64();
const CREDENTIALS = env.CREDENTIALS;

const before = () => contextAt(NOW, { CREDENTIALS, MASTER_KEY: OLD });
const both = () => contextAt(NOW, { CREDENTIALS, MASTER_KEY: NEW, MASTER_KEY_PREVIOUS: OLD });
const after = () => contextAt(NOW, { CREDENTIALS, MASTER_KEY: NEW });

const hasReason = (reason: string) => (error: unknown) => isRefusedFor(error, reason);

const hashOf = async (ctx: ReturnType<typeof before>, siteId = 1, sbs = "mei") =>
  (await customerHasher(ctx))(siteId, sbs);
const rows = async () => (await env.DB.prepare("SELECT id, sealed FROM customer_hash_keys").all()).results;
const kvKeys = async () => (await env.CREDENTIALS.list({ prefix: "customer-hash-key:" })).keys.map(({ name }) => name);

beforeEach(async () => {
  await forgetHashKeys();
  await env.DB.exec("DELETE FROM apps; DELETE FROM webhooks");
});
afterEach(forgetHashKeys);

describe("the key of customers' hashes", () => {
  it("the customer hash key is made once: sealed in the directory and in KV, and the same for every isolate", async () => {
    const hash = await hashOf(before());
    expect(hash).toMatch(/^[0-9a-f]{8}\.[0-9a-f]{64}$/);
    expect(await hashOf(before())).toBe(hash);
    expect(await hashOf(before(), 2)).not.toBe(hash);
    expect(await hashOf(before(), 1, "mei ")).not.toBe(hash);
    const [id] = hash.split(".");
    expect(await rows()).toEqual([{ id, sealed: expect.stringMatching(/^v2\./) }]);
    expect(await kvKeys()).toEqual([`customer-hash-key:${id}`]);
  });

  it("isolates that make the customer hash key together get the same key", async () => {
    const hashes = await Promise.all([hashOf(before()), hashOf(before()), hashOf(before())]);
    expect(new Set(hashes).size).toBe(1);
    const [id] = String(hashes[0]).split(".");
    expect([(await rows()).length, await kvKeys()]).toEqual([1, [`customer-hash-key:${id}`]]);
  });

  it("a directory restored to before the customer hash key was made gets the key back from KV", async () => {
    const hash = await hashOf(before());
    await env.DB.exec("DELETE FROM customer_hash_keys");
    expect(await hashOf(before())).toBe(hash);
    expect(await rows()).toHaveLength(1);
  });

  it("a customer hash is checked with a key from KV that the directory lost, even after a new key was made", async () => {
    const hash = await hashOf(before());
    const [name = ""] = await kvKeys();
    const { value, metadata } = await CREDENTIALS.getWithMetadata(name, "text");
    await CREDENTIALS.delete(name);
    await env.DB.exec("DELETE FROM customer_hash_keys");
    expect(await hashOf(before())).not.toBe(hash);
    await CREDENTIALS.put(name, String(value), { metadata });
    expect(await (await hashCheck(before()))(hash, 1, "mei")).toBe(true);
  });

  it("a call that read the customer hash key before it was re-sealed does not overwrite it", async () => {
    await hashOf(before());
    const [row] = await selectHashKeys(env.DB);
    if (row === undefined) throw new Error("no key");
    await resealSecrets(both());
    expect(await updateHashKey(env.DB, row, { sealed: row.sealed })).toBe(false);
    expect(await rows()).not.toEqual([{ id: row.id, sealed: row.sealed }]);
  });

  it("the customer hash key is not used before KV has a copy, also when KV was bound later", async () => {
    const hash = await hashOf(contextAt(NOW, { CREDENTIALS: undefined }));
    expect(await kvKeys()).toEqual([]);
    const put = () => Promise.reject(new Error("KV PUT failed: 500"));
    const ctx = contextAt(NOW, { CREDENTIALS: replacing(CREDENTIALS, { put }) });
    await expect(hashOf(ctx)).rejects.toSatisfy(hasReason("kv_unavailable"));
    expect(await hashOf(before())).toBe(hash);
    expect(await kvKeys()).toHaveLength(1);
  });

  it("the customer hash key is put into KV once, because KV accepts one write per second and key", async () => {
    let puts = 0;
    const put = (...args: [string, string]) => {
      puts++;
      return CREDENTIALS.put(...args);
    };
    for (let i = 0; i < 3; i++) await hashOf(contextAt(NOW, { CREDENTIALS: replacing(CREDENTIALS, { put }) }));
    expect(puts).toBe(1);
  });

  it("a call that made a customer hash key too late and died leaves no second key in KV", async () => {
    const list = async (...args: never[]) => {
      const page = await CREDENTIALS.list(...args);
      await hashOf(before());
      return page;
    };
    const get = () => Promise.reject(new Error("died"));
    await hashOf(contextAt(NOW, { CREDENTIALS: replacing(CREDENTIALS, { list, get }) }));
    expect([(await rows()).length, (await kvKeys()).length]).toEqual([1, 1]);
  });

  it("no customer hash key is made while KV has one that does not open, until an operator deletes it", async () => {
    await env.CREDENTIALS.put("customer-hash-key:junk", "junk");
    await expect(hashOf(before())).rejects.toSatisfy(hasReason("hash_key_unopened"));
    expect(await rows()).toEqual([]);
    await env.CREDENTIALS.delete("customer-hash-key:junk");
    expect(await hashOf(before())).toMatch(/^[0-9a-f]{8}\.[0-9a-f]{64}$/);
  });

  it("customer ids cannot be hashed while the directory, which has the key, is down or closed", async () => {
    await expect(hashOf(contextAt(NOW, { DB: downDb(env.DB) }))).rejects.toSatisfy(hasReason("d1_unavailable"));
    const ctx = contextAt(NOW, closedHomeVars("main"));
    await expect(hashOf(ctx)).rejects.toSatisfy(hasReason("home_closed"));
  });
});

describe("a new master key", () => {
  it("after re-sealing, the new master key opens the hash key, and the hashes stay the same", async () => {
    const hash = await hashOf(before());
    expect(await hashOf(both())).toBe(hash);
    expect((await resealSecrets(both())).resealed).toBe(1);
    expect((await resealSecrets(both())).resealed).toBe(0);
    expect(await hashOf(after())).toBe(hash);
    // A directory from before the re-sealing has a seal that no key opens. KV has the new seal.
    await env.DB.exec("UPDATE customer_hash_keys SET sealed = 'v2.00000000.a.b'");
    expect(await hashOf(after())).toBe(hash);
    expect(await (await hashCheck(after()))(hash, 1, "mei")).toBe(true);
    expect(await (await hashCheck(after()))(hash, 1, "li")).toBe(false);
  });

  it("an isolate without the new master key makes no other customer hash key, and re-sealing makes none", async () => {
    const hash = await hashOf(before());
    await resealSecrets(both());
    const state = [await rows(), await kvKeys()];
    await expect(hashOf(before())).rejects.toSatisfy(hasReason("hash_key_unopened"));
    await resealSecrets(before());
    await env.DB.exec("DELETE FROM customer_hash_keys");
    await expect(hashOf(before())).rejects.toSatisfy(hasReason("hash_key_unopened"));
    expect(await (await hashCheck(before()))(hash, 1, "mei")).toBeUndefined();
    expect(await hashOf(both())).toBe(hash);
    expect([await rows(), await kvKeys()]).toEqual(state);
  });

  it("re-sealing reaches a customer hash key that only KV has after a restore of the directory", async () => {
    const hash = await hashOf(before());
    await env.DB.exec("DELETE FROM customer_hash_keys");
    expect((await resealSecrets(both())).resealed).toBe(1);
    expect((await resealSecrets(both())).resealed).toBe(0);
    expect(await hashOf(after())).toBe(hash);
  });

  it("a new customer hash key is made when the old master key is lost and the old hash keys are deleted", async () => {
    const hash = await hashOf(before());
    await expect(hashOf(after())).rejects.toSatisfy(hasReason("hash_key_unopened"));
    await forgetHashKeys();
    expect(await hashOf(after())).not.toBe(hash);
  });
});
