import addAgents from "../../../../src/operations/add-agents.ts";
import createSession from "../../../../src/operations/create-session.ts";
import type { Operation, Outcome } from "../../../../src/operations/operation.ts";
import { claimOf } from "../../../../src/signed/claim-of.ts";
import { type ClaimRequest, selectUse } from "../../../../src/store/home/claim.ts";
import type { Cases } from "../case.ts";
import { seen } from "./ask.ts";
import { APP, everything, madeHome, NOW, type Store } from "./home.ts";

type Fields = Record<string, unknown>;

const SESSION = {
  sbs: "customer_001",
  ip: "127.0.0.1",
  sbs_mc: "Customer 🙂",
  content: 'It\'s "here"\n我的订单在哪里？',
  kefu_id: [1, 2],
  fzr_uid: 1,
  title: "Order",
  metadata: { order: "20260617-0042", channel: "app" },
};

/** The differences from an accepted request. */
interface Change {
  ranstr?: string;
  owner?: string;
  attempt?: number;
  appid?: string;
  siteId?: number;
  secretVersion?: string;
  key?: string | null;
  now?: number;
}

async function requestOf(operation: Operation, fields: Fields, change: Change) {
  const asked = operation.read(fields);
  if (!asked.ok) throw new Error(`the fields are refused: ${JSON.stringify(asked)}`);
  const { ranstr = "r1", owner = `owner of ${ranstr}`, key = null, now = NOW } = change;
  const { siteId = APP.siteId, appid = APP.appid, secretVersion = APP.version } = change;
  const claimed = { asked: asked.value, ranstr, idempotencyKey: null };
  // A fake toHex, because node has the real one only with a flag.
  const runtime = { bytes: () => ({ toHex: () => owner }) };
  const claim = await claimOf(runtime as never, { siteId, appid, secretVersion }, claimed, owner, now);
  const fingerprint = key === null ? "" : JSON.stringify(asked.value.input);
  const request: ClaimRequest = { ...claim, key, fingerprint };
  return { asked: asked.value, request };
}

/** Runs an operation's batch. @returns every statement's answer, and the operation's result */
async function send(db: D1Database, operation: Operation, fields: Fields, change: Change = {}) {
  const { asked, request } = await requestOf(operation, fields, change);
  const results = await db.batch(operation.batch(db, request, asked, change.attempt ?? 1));
  return { results: results.map(seen), outcome: operation.outcomeOf(results.map(({ results: rows }) => rows)) };
}

/** The result of the signature check's preview. */
async function preview(db: D1Database, operation: Operation, fields: Fields, change: Change = {}) {
  const { asked, request } = await requestOf(operation, fields, change);
  const results = await db.batch(operation.preview(db, request, asked));
  return [results.map(seen), operation.previewOf(results.map(({ results: rows }) => rows))];
}

const create = (db: D1Database, change?: Change, fields: Fields = {}) =>
  send(db, createSession, { ...SESSION, ...fields }, change);
const add = (db: D1Database, fields: Fields, change: Change = {}) =>
  send(db, addAgents, { chat_id: 1, kefu_ids: [2], ...fields }, { ranstr: "added", ...change });

/** A case on a migrated home. It returns the results of its calls and then all stored rows. */
const onHome =
  (run: (db: D1Database) => Promise<{ outcome: Outcome }[]>, ...expected: Outcome["kind"][]) =>
  async (store: Store) => {
    const db = await madeHome(store);
    const answers = await run(db);
    const kinds = answers.map(({ outcome }) => outcome.kind);
    // Without this check, both sides could agree on another result than the one that the case is about.
    if (kinds.join() !== expected.join()) throw new Error(`came to ${kinds.join()}, not to ${expected.join()}`);
    return { answers, stored: await everything(db) };
  };

/** Rules of the batches of both signed operations, as src/ sends them. */
export const signedCases: Cases<Store> = {
  "the migrations make one schema": async (store) => everything(await madeHome(store)),

  "create: accepted": onHome(async (db) => [await create(db)], "accepted"),
  "create: with nothing optional": onHome(
    async (db) => [
      await create(db, {}, { title: undefined, metadata: undefined, kefu_id: [1], sender_type: 1, sbs: "1001" }),
    ],
    "accepted",
  ),
  "create: a second session of a customer, whose name changed": onHome(
    async (db) => [
      await create(db),
      await create(db, { ranstr: "r2", now: NOW + 5 }, { sbs_mc: "New name", sender_type: 3 }),
    ],
    "accepted",
    "accepted",
  ),
  "create: by the previous secret during the overlap, and after it": onHome(
    async (db) => [
      await create(db, { secretVersion: "v0" }),
      await create(db, { secretVersion: "v0", ranstr: "r2", now: NOW + 60 }),
    ],
    "accepted",
    "credentials_stale",
  ),
  "create: replayed": onHome(
    async (db) => [await create(db), await create(db, { owner: "another" })],
    "accepted",
    "replayed",
  ),
  "create: a second try reads what the first decided": onHome(
    async (db) => [await create(db), await create(db, { attempt: 2 })],
    "accepted",
    "accepted",
  ),
  "create: a second try does not restore what was deleted meanwhile": onHome(
    async (db) => {
      const first = await create(db);
      await db.batch([db.prepare("DELETE FROM participants"), db.prepare("DELETE FROM messages")]);
      return [first, await create(db, { attempt: 2 })];
    },
    "accepted",
    "accepted",
  ),
  "create: a ranstr that is forgotten is used again": onHome(
    async (db) => [await create(db), await create(db, { owner: "another", now: NOW + 1_860 })],
    "accepted",
    "accepted",
  ),
  "create: an agent who is unknown, foreign or disabled refuses it": onHome(
    async (db) => [await create(db, {}, { kefu_id: [1, 3, 99, 2] })],
    "refused",
  ),
  "create: a refusal keeps its ranstr": onHome(
    async (db) => [
      await create(db, {}, { kefu_id: [1, 99] }),
      await create(db, { attempt: 2 }, { kefu_id: [1, 99] }),
      await create(db, { owner: "another" }),
    ],
    "refused",
    "refused",
    "replayed",
  ),
  "create: with a key, and again": onHome(
    async (db) => [await create(db, { key: "k" }), await create(db, { key: "k", ranstr: "r2" })],
    "accepted",
    "repeated",
  ),
  "create: a key for something else": onHome(
    async (db) => [await create(db, { key: "k" }), await create(db, { key: "k", ranstr: "r2" }, { content: "Other" })],
    "accepted",
    "refused",
  ),
  "create: a key that is forgotten is used again": onHome(
    async (db) => [await create(db, { key: "k" }), await create(db, { key: "k", ranstr: "r2", now: NOW + 86_400 })],
    "accepted",
    "accepted",
  ),
  "create: an unknown app, secret or site, a revoked app": onHome(
    async (db) => {
      const stale = [
        await create(db, { appid: "none" }),
        await create(db, { secretVersion: "none" }),
        await create(db, { siteId: 99 }),
      ];
      await db.prepare("UPDATE apps SET revoked_at = ?").bind(NOW).run();
      return [...stale, await create(db)];
    },
    "credentials_stale",
    "credentials_stale",
    "credentials_stale",
    "credentials_stale",
  ),
  "create: a closed site": onHome(
    async (db) => [await create(db, { siteId: 8, appid: "closed", secretVersion: "v8" }, { kefu_id: [1] })],
    "site_closed",
  ),
  "create: ids go on above the floor and above the newest session": onHome(
    async (db) => {
      await db.prepare("UPDATE home_sites SET chat_id_floor = 900000000000000 WHERE site_id = 7").run();
      const first = await create(db);
      await db.prepare("UPDATE home_sites SET chat_id_floor = 5 WHERE site_id = 7").run();
      return [first, await create(db, { ranstr: "r2" })];
    },
    "accepted",
    "accepted",
  ),

  "add: accepted": onHome(
    async (db) => [await create(db, {}, { kefu_id: [1] }), await add(db, {})],
    "accepted",
    "accepted",
  ),
  "add: names those left out": onHome(
    async (db) => [await create(db, {}, { kefu_id: [1] }), await add(db, { kefu_ids: "2,1,3,99" })],
    "accepted",
    "accepted",
  ),
  "add: a second try names the same, and adds nobody": onHome(
    async (db) => [
      await create(db, {}, { kefu_id: [1] }),
      await add(db, { kefu_ids: [1, 2] }),
      await add(db, { kefu_ids: [1, 2] }, { attempt: 2 }),
    ],
    "accepted",
    "accepted",
    "accepted",
  ),
  "add: nobody is left to add": onHome(
    async (db) => [await create(db), await add(db, { kefu_ids: [1, 2, 3, 99] })],
    "accepted",
    "refused",
  ),
  "add: an unknown session, and one of another site": onHome(
    async (db) => [
      await create(db),
      await add(db, { chat_id: 99 }),
      await add(db, {}, { siteId: 8, appid: "closed", secretVersion: "v8" }),
    ],
    "accepted",
    "refused",
    "site_closed",
  ),
  "add: no ticket, and no responsible agent": onHome(
    async (db) => {
      const first = await create(db, {}, { kefu_id: [1] });
      await db.prepare("UPDATE sessions SET kind = 'chat'").run();
      const second = await add(db, {});
      await db.prepare("UPDATE sessions SET kind = 'ticket', responsible_agent_id = NULL").run();
      return [first, second, await add(db, {}, { ranstr: "r3" })];
    },
    "accepted",
    "refused",
    "refused",
  ),
  "add: replayed, repeated, a key for something else": onHome(
    async (db) => [
      await create(db, {}, { kefu_id: [1] }),
      await add(db, {}, { key: "k" }),
      await add(db, {}, { key: "k", owner: "another" }),
      await add(db, {}, { key: "k", ranstr: "r3" }),
      await add(db, { kefu_ids: [1] }, { key: "k", ranstr: "r4" }),
    ],
    "accepted",
    "accepted",
    "replayed",
    "repeated",
    "refused",
  ),

  "the previews of the signature check": async (store) => {
    const db = await madeHome(store);
    await create(db, { key: "k" }, { kefu_id: [1] });
    const added = { chat_id: 1, kefu_ids: [2, 3] };
    return [
      await preview(db, createSession, SESSION),
      await preview(db, createSession, SESSION, { ranstr: "r2", key: "k" }),
      await preview(db, createSession, { ...SESSION, kefu_id: [1, 99] }, { ranstr: "r3" }),
      await preview(db, addAgents, added, { ranstr: "r4" }),
      await preview(db, addAgents, { ...added, chat_id: 9 }, { ranstr: "r5" }),
      seen(await selectUse(db, { siteId: APP.siteId, appid: APP.appid, ranstr: "r1", now: NOW }).all()),
      seen(await selectUse(db, { siteId: APP.siteId, appid: APP.appid, ranstr: "none", now: NOW }).all()),
      await everything(db),
    ];
  },
};
