import addAgents from "../../../../src/core/operations/add-agents.ts";
import createSession from "../../../../src/core/operations/create-session.ts";
import type { Operation, Outcome } from "../../../../src/core/operations/operation.ts";
import type { Runtime } from "../../../../src/core/runtime.ts";
import { claimOf } from "../../../../src/core/signed/claim-of.ts";
import { inOneBatch } from "../../../../src/core/store/batch.ts";
import { insertAgents, updateAgent } from "../../../../src/operators/store/home/agents.ts";
import { prune } from "../../../../src/operators/store/pruning/prune.ts";
import { keepInDirectory, selectFloors, skipIds } from "../../../../src/operators/store/reconciliations.ts";
import { CALL_RULES } from "../../../../src/operators/usage/call-rules.ts";
import { replacing } from "../../../support/replacing.ts";
import type { Cases } from "../case.ts";
import { APP, everything, madeHome, NOW, type Store } from "./home.ts";
import { comparable } from "./tables.ts";

/** A fixed clock, and no time limits. */
const runtime: Runtime = {
  now: () => NOW * 1000,
  elapsed: () => 0,
  after: () => () => {},
  random: () => 0.5,
  bytes: (length) => new Uint8Array(length),
  uuid: () => "00000000-0000-4000-8000-000000000000",
};
const author = {
  actor: "console",
  now: NOW + 9,
  requestId: "019a0b1c-2d3e-7f40-8a51-6b7c8d9e0f12",
  who: { kind: "token", id: "tok_1", name: "Nightly" },
  address: "192.0.2.0/24",
} as const;

const SESSION = {
  sbs: "customer_001",
  ip: "127.0.0.1",
  sbs_mc: "Customer 🙂",
  content: 'It\'s "here"\n我的订单在哪里？',
  kefu_id: [1],
  fzr_uid: 1,
  title: "Order",
  metadata: { order: "20260617-0042" },
};

type RequestChange = {
  ranstr?: string;
  owner?: string;
  attempt?: number;
  key?: string;
  secretVersion?: string;
  now?: number;
  events?: boolean;
};

/** Sends a signed call's batch. @param kind the outcome that it must have: both sides could agree on a wrong outcome */
const send =
  (kind: Outcome["kind"], operation: Operation, fields: object, change: RequestChange) => async (db: D1Database) => {
    const operationInput = operation.read(fields as Record<string, unknown>);
    if (!operationInput.ok) throw new Error(`the fields are refused: ${JSON.stringify(operationInput)}`);
    const { ranstr = "r1", key = null, now = NOW, owner = `owner of ${ranstr}`, secretVersion = APP.version } = change;
    // A fake toHex, because node has the real one only with a flag.
    const fakeOwner = { bytes: () => ({ toHex: () => owner }) };
    const reading = { operationInput: operationInput.value, ranstr, idempotencyKey: null, clientNetwork: null };
    const claim = await claimOf(
      fakeOwner as never,
      { ...APP, secretVersion, events: change.events ?? true },
      reading,
      owner,
      now,
    );
    const request = { ...claim, key, fingerprint: key === null ? "" : JSON.stringify(operationInput.value.input) };
    const batch = operation.batch(db, request, operationInput.value, change.attempt ?? 1);
    let results: D1Result[] = [];
    const watchedDb = replacing(db, {
      batch: async (statements: D1PreparedStatement[]) => {
        results = await db.batch(statements);
        return results;
      },
    });
    const outcome = operation.outcomeOf(await inOneBatch(watchedDb, batch));
    if (outcome.kind !== kind) throw new Error(`came to ${outcome.kind}, not to ${kind}`);
    return { results: results.map(comparable), outcome };
  };

const create = (kind: Outcome["kind"], change: RequestChange = {}, fields: object = {}) =>
  send(kind, createSession, { ...SESSION, ...fields }, change);
const add = (kind: Outcome["kind"], kefu_ids: number[], ranstr: string) =>
  send(kind, addAgents, { chat_id: 1, kefu_ids }, { ranstr });

const run = (sql: string) => (db: D1Database) => db.prepare(sql).run().then(comparable);

function pruneOnce(db: D1Database) {
  const settings = {
    eventRetentionDays: 30,
    journalDays: 30,
    auditDays: 730,
    sessionEventTypes: [],
    callRules: CALL_RULES,
  };
  const homes = { directory: db, homes: new Map([["main", db]]), closedHomes: new Set<string>() };
  return prune(runtime, { ...homes, ...settings }, NOW + 90_000, { chunkRows: 4, statements: 100 });
}

const RECONCILIATION = { id: "s", home: "main", skip: 1000 };
const REMEMBERED = { floors: [{ siteId: 7, chatId: 500, eventSeq: 20 }], highestSite: 99 };

/** A case on a migrated home. It returns the results of its calls in order, and then all stored rows. */
const onHome =
  (...calls: ((db: D1Database) => unknown)[]) =>
  async (store: Store) => {
    const db = await madeHome(store);
    const answers: unknown[] = [];
    for (const call of calls) answers.push(await call(db));
    return { answers, stored: await everything(db) };
  };

const insertTwo = (ids: [number, number]) => (db: D1Database) =>
  insertAgents(
    db,
    7,
    ids.map((id) => ({ id, name: `It's 🙂 ${id}` })),
    author,
  );
const rename = (id: number) => (db: D1Database) =>
  updateAgent(runtime, db, { siteId: 7, id }, { name: "Li 2" }, author, Number.POSITIVE_INFINITY);

/** One case for each kind of statement that src/ sends: each kind might differ in node:sqlite. */
export const serviceCases: Cases<Store> = {
  "a create_gd batch claims its nonce: accepted, replayed, tried again, signed with a stale secret, expired": onHome(
    create("accepted"),
    create("replayed", { owner: "another" }),
    create("accepted", { attempt: 2 }),
    create("credentials_stale", { ranstr: "r2", secretVersion: "v0", now: NOW + 60 }),
    create("accepted", { ranstr: "r1", owner: "another", now: NOW + 1_860 }),
  ),
  "create_gd upserts a new customer and a changed customer": onHome(
    create("accepted"),
    create("accepted", { ranstr: "r2", now: NOW + 5 }, { sbs_mc: "New name", sender_type: 3, metadata: undefined }),
  ),
  "an Idempotency-Key is looked up: accepted, repeated, refused for another body": onHome(
    create("accepted", { key: "k" }),
    create("repeated", { key: "k", ranstr: "r2" }),
    create("refused", { key: "k", ranstr: "r3" }, { content: "Other" }),
  ),
  "json_each reads a list of agents to add: refused, some left out, nobody left": onHome(
    create("refused", {}, { kefu_id: [1, 3, 99, 2] }),
    create("accepted", { ranstr: "r2" }),
    add("accepted", [2, 1, 3, 99], "r3"),
    add("refused", [1, 3, 99], "r4"),
  ),
  "new sessions get ids of more than 32 bits above the floor": onHome(
    run("UPDATE home_sites SET chat_id_floor = 900000000000000 WHERE site_id = 7"),
    create("accepted"),
    create("accepted", { ranstr: "r2" }),
  ),
  "agents are inserted all or none, with one row in the audit log": onHome(insertTwo([5, 4]), insertTwo([6, 1])),
  "an UPDATE with RETURNING changes an agent, and changes nothing when the agent is missing": onHome(
    rename(2),
    rename(99),
  ),
  "pruning deletes expired rows in chunks, twice": onHome(
    run(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9)
      INSERT INTO nonces (site_id, appid, ranstr, owner, attempt, expires_at, outcome, session_id)
      SELECT 7, 'a', 'r' || i, 'o', 1, ${NOW} + i * 20000, 'accepted', NULL FROM n`),
    pruneOnce,
    pruneOnce,
  ),
  "reconciling a home joins its rows with floors from another database": onHome(
    (db) => skipIds(db, RECONCILIATION, REMEMBERED, author),
    (db) => skipIds(db, RECONCILIATION, REMEMBERED, { ...author, now: NOW + 9 }),
    async (db) => keepInDirectory(db, RECONCILIATION, await selectFloors(db), author),
  ),
};
