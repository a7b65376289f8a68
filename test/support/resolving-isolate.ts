import { env } from "cloudflare:workers";
import type { AppRecord } from "../../src/core/credentials/find-app.ts";
import type { Credentials } from "../../src/core/credentials/open-secrets.ts";
import type { FoundApp, Question } from "../../src/core/credentials/question.ts";
import { CredentialResolver } from "../../src/core/credentials/resolve-credentials.ts";
import { ServiceError } from "../../src/core/errors.ts";
import { type Runtime, systemRuntime } from "../../src/core/runtime.ts";
import { TELEMETRY } from "./console-telemetry.ts";
import { countingDb } from "./counting-db.ts";
import { replacing } from "./replacing.ts";
import { runtimeAt } from "./test-runtime.ts";
import { NOW, World } from "./world.ts";

export const MASTER_KEY = Uint8Array.fromBase64(env.MASTER_KEY);

/** Milliseconds for which a cold look-up waits for KV before it asks D1 too. */
const HEAD_START_MS = 15;

/**
 * Milliseconds for which D1's answer waits for KV's: when D1 has no such app, and before the app is put into KV. A test with
 * `hedged` waits 100 ms.
 */
const KV_ANSWER_MS = [300, 2_000];

export type Change = {
  directory?: D1Database;
  /** Whether round trips to the directory are not counted, because they go through faults. */
  uncounted?: boolean;
  apac?: D1Database | undefined;
  closedHomes?: string[];
  credentials?: KVNamespace | undefined;
  /** Whether D1 is asked after 15 ms without KV's answer, and not after a second, because KV is slow on a busy machine. */
  hedged?: boolean;
  masterKeys?: [Uint8Array<ArrayBuffer>];
};

/** An isolate's resolver on real D1 and KV. It counts the round trips. */
export class ResolvingIsolate {
  readonly clock = { now: NOW };
  readonly resolver: CredentialResolver;
  readonly trips: { single: number; batches: number };
  readonly tripsToApac: { single: number; batches: number };
  readonly kvGets: string[] = [];
  readonly bindings;
  readonly runtime: Runtime;
  readonly #left: Promise<unknown>[] = [];
  readonly waitUntil = (work: Promise<unknown>) => void this.#left.push(work);

  constructor(change: Change = {}) {
    const wait = (ms: number) => {
      if (KV_ANSWER_MS.includes(ms) && change.hedged === true) return 100;
      return ms === HEAD_START_MS && change.hedged !== true ? 1_000 : ms;
    };
    this.runtime = {
      ...runtimeAt(() => this.clock.now * 1000),
      after: (ms, callback) => systemRuntime.after(wait(ms), callback),
    };
    this.resolver = new CredentialResolver(this.runtime, TELEMETRY);
    const main = change.directory ?? env.DB;
    const { db, trips } = change.uncounted ? { db: main, trips: { single: 0, batches: 0 } } : countingDb(main);
    const kv = "credentials" in change ? change.credentials : env.CREDENTIALS;
    const countingKv =
      kv &&
      replacing(kv, {
        get: (key: string, options: never) => {
          this.kvGets.push(key);
          return kv.get(key, options);
        },
      });
    this.trips = trips;
    const apac = countingDb(("apac" in change ? change.apac : undefined) ?? env.HOME_APAC);
    this.tripsToApac = apac.trips;
    const others: [string, D1Database][] = "apac" in change && change.apac === undefined ? [] : [["apac", apac.db]];
    this.bindings = {
      directory: db,
      homes: new Map([["main", db], ...others]),
      closedHomes: new Set(change.closedHomes),
      credentials: countingKv,
      masterKeys: change.masterKeys ?? [MASTER_KEY],
    };
  }

  /** @param more milliseconds that the request has left */
  lookUp(question: Question, more = 8_000): Promise<FoundApp | undefined> {
    const lifetime = { runtime: this.runtime, waitUntil: this.waitUntil, answerBy: Date.now() + more };
    return this.resolver.lookUp(this.bindings, lifetime, question);
  }

  /** Looks an app up as a request does first. */
  async resolve(appid: string): Promise<FoundApp | undefined> {
    const credentials = await this.lookUp({ trust: "cache", appid, inTurn: false });
    await this.settled();
    return credentials;
  }

  /** The app in the isolate's memory; undefined when it is not there. */
  async remembered(appid: string): Promise<FoundApp | undefined> {
    const credentials = await this.lookUp({ trust: "cache", appid, inTurn: false });
    return credentials?.source === "isolate" ? credentials : undefined;
  }

  /** Looks an app up as a request does after its home gave no answer. */
  async relocate(cached: Credentials, client = "192.0.2.1"): Promise<FoundApp | undefined> {
    const credentials = await this.lookUp({ trust: "directory", bound: "address", cached, client, signature: "" });
    await this.settled();
    return credentials;
  }

  /** Looks an app up as a request does after its signature failed. */
  async refresh(cached: Credentials, client = "192.0.2.1"): Promise<Credentials | undefined> {
    const fresh = await this.lookUp({ trust: "home", bound: "address", cached, client, signature: "" });
    await this.settled();
    return fresh?.credentials;
  }

  async publish(record: AppRecord): Promise<void> {
    this.resolver.publish(this.bindings, record, this.waitUntil);
    await this.settled();
  }

  async settled(): Promise<void> {
    while (this.#left.length > 0) await Promise.all(this.#left.splice(0));
  }
}

export const kvKey = (appid: string) => `app:${appid}`;

/** A world whose app is not in KV, and was never read from KV as missing. */
export async function worldUnknownToKv(home = "main"): Promise<World> {
  const world = await World.create({}, home);
  await env.CREDENTIALS.delete(kvKey(world.appid));
  return world;
}

export async function recordOf(appid: string): Promise<AppRecord> {
  const record = await env.CREDENTIALS.get<AppRecord>(kvKey(appid), "json");
  if (record === null) throw new Error("KV has no record");
  return record;
}

/** An isolate that knows the first secret of the world's app. */
export async function warmIsolate(
  world: World,
  change: Change = {},
): Promise<{ isolate: ResolvingIsolate; known: Credentials }> {
  const isolate = new ResolvingIsolate(change);
  const credentials = await isolate.resolve(world.appid);
  if (credentials === undefined) throw new Error("the app is not there");
  isolate.trips.single = 0;
  isolate.tripsToApac.single = 0;
  isolate.kvGets.length = 0;
  return { isolate, known: credentials.credentials };
}

export async function refusalOf(call: Promise<unknown>): Promise<ServiceError> {
  const thrown: unknown = await call.catch((error: unknown) => error);
  if (!(thrown instanceof ServiceError)) throw new Error(`not a ServiceError: ${String(thrown)}`);
  return thrown;
}
