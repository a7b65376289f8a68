import { afterAll, expect, test } from "vitest";
import { subtle } from "../machine/subtle.ts";
import { onNotSimulated, refuseOtherProperties } from "../not-simulated.ts";
import { SimulatedD1 } from "./d1.ts";
import { Database } from "./database.ts";
import { KvTruth, SimulatedKv } from "./kv.ts";
import { QueueTruth, SimulatedBatch, SimulatedQueue } from "./queue.ts";
import { SimulatedRateLimit } from "./rate-limit.ts";

const database = new Database();
database.execute("CREATE TABLE ids (id INTEGER PRIMARY KEY)");
const d1 = new SimulatedD1(database);
const kv = new SimulatedKv(new KvTruth(), Date.now);
const limit = new SimulatedRateLimit({ limit: 1, period: 10 }, Date.now);
const batch = new SimulatedBatch("queue", [{ id: "1", body: "a", attempts: 1 }]);
const queue = new SimulatedQueue(
  new QueueTruth(
    { name: "queue", maxBatchSize: 1, maxRetries: 1 },
    { after: () => {}, newId: () => "1", concurrency: 1, consume: async () => true },
  ),
);
const json = { contentType: "json" };
const HMAC = { name: "HMAC", hash: "SHA-256" };
const hmacKey = (usage: string, raw = new Uint8Array(32)) => subtle.importKey("raw", raw, HMAC, false, [usage]);
const gcm = (iv: number) => ({ name: "AES-GCM", iv: new Uint8Array(iv), additionalData: new Uint8Array() });
const aesKey = (usages: string[], length = 32) =>
  subtle.importKey("raw", new Uint8Array(length), "AES-GCM", false, usages);

/** Calls that src/ never makes, each with the words of its refusal. */
const REFUSED: [what: string, call: () => unknown][] = [
  ["the statement PRAGMA", () => d1.prepare("PRAGMA table_info(t)").all()],
  ["the statement CREATE TABLE", () => d1.prepare("CREATE TABLE t (a)").run()],
  ["several statements", () => d1.prepare("SELECT 1; SELECT 2").all()],
  ["named parameters", () => d1.prepare("SELECT :a").bind("x").all()],
  ["numbered parameters beside others", () => d1.prepare("SELECT ?, ?2").bind("x", "y").all()],
  ["SQLite's error 20", () => d1.prepare("INSERT INTO ids VALUES ('x')").run()],
  ["raw() with columnNames", () => d1.prepare("SELECT 1").raw({ columnNames: true })],
  ["an empty batch", () => d1.batch([])],
  ["a bound value: string", () => d1.prepare("SELECT ?").bind("a\ud800")],
  ["a bound value: number", () => d1.prepare("SELECT ?").bind(Number.NaN)],
  ["a bound value: undefined", () => d1.prepare("SELECT ?").bind(undefined)],
  ["a bound value: object", () => d1.prepare("SELECT ?").bind(new Uint8Array(1))],
  ["to read Infinity", () => d1.prepare("SELECT 9e999").all()],
  ["to read 0", () => d1.prepare("SELECT x'00'").all()],
  ["get() with start", () => kv.get("key", { start: "a" } as never)],
  ["a value of type stream", () => kv.get("key", "stream")],
  ["a cache of 29 s", () => kv.get("key", { cacheTtl: 29 })],
  ["0 keys", () => kv.get([])],
  ["101 keys", () => kv.get(Array(101).fill("key"))],
  ["several keys as json", () => kv.get(["key"], "json")],
  ['the key ""', () => kv.get("")],
  ['the key "."', () => kv.get(["key", "."])],
  ['the key "é', () => kv.put("é".repeat(257), "a")],
  ["well-formed text", () => kv.put("key", "a\ud800")],
  ["well-formed text", () => kv.put("key", new ArrayBuffer(1) as never)],
  ["a value that expires in 59 s", () => kv.put("key", "a", { expirationTtl: 59 })],
  ["put() with expiration", () => kv.put("key", "a", { expiration: 1 } as never)],
  ["metadata that is too long", () => kv.put("key", "", { metadata: ["m".repeat(1_022)] })],
  ["list() with start", () => kv.list({ prefix: "", start: "a" } as never)],
  ["a limit without a key", () => limit.limit({} as never)],
  ["limit() with name", () => limit.limit({ key: "a", name: "b" } as never)],
  ["a message of type ", () => queue.send("a")],
  ["send() with delaySeconds", () => queue.send("a", { ...json, delaySeconds: 1 } as never)],
  ["sendBatch() with delaySeconds", () => queue.sendBatch([{ body: 1, ...json }], { delaySeconds: 1 })],
  ["a delay of 0.5 s", () => queue.sendBatch([{ body: 1, ...json, delaySeconds: 0.5 }])],
  ["a delay of 86401 s", () => queue.sendBatch([{ body: 1, ...json, delaySeconds: 86_401 }])],
  ["0 messages", () => queue.sendBatch([])],
  ["101 messages", () => queue.sendBatch(Array(101).fill({ body: 1, ...json }))],
  ["messages of 128001 bytes", () => queue.send("x".repeat(127_999), json)],
  ["ack of a message", () => (batch.messages[0] as unknown as Message).ack()],
  ["delete of KV", () => (refuseOtherProperties("KV", kv) as unknown as KVNamespace).delete("key")],
  ["WebCrypto with HKDF", () => subtle.importKey("raw", new Uint8Array(32), "HKDF", false, ["deriveKey"])],
  ["WebCrypto with SHA-1", () => subtle.digest("SHA-1", new Uint8Array())],
  ["HMAC with SHA-256 and a key of 0 bytes", () => hmacKey("sign", new Uint8Array())],
  ["HMAC for encrypt", () => hmacKey("encrypt")],
  ["AES-GCM with undefined and a key of 16 bytes", () => aesKey(["encrypt"], 16)],
  ["sign() with a key", async () => subtle.sign("HMAC", await hmacKey("verify"), new Uint8Array())],
  ["an iv of 11 bytes", async () => subtle.encrypt(gcm(11), await aesKey(["encrypt"]), new Uint8Array())],
  ["shorter than a tag", async () => subtle.decrypt(gcm(12), await aesKey(["decrypt"]), new Uint8Array(15))],
  ["values of unequal lengths", () => subtle.timingSafeEqual(new Uint8Array(1), new Uint8Array(2))],
];

afterAll(() => onNotSimulated(() => {}));

test.each(REFUSED)(
  "a stand-in refuses a call that is not simulated, and reports it to the listener: %s",
  async (what, call) => {
    const reports: string[] = [];
    onNotSimulated(({ message }) => reports.push(message));
    await expect((async () => call())()).rejects.toThrow("not simulated: ");
    expect(reports).toEqual([expect.stringContaining(what)]);
  },
);
