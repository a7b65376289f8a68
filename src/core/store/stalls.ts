import { MAIN_HOME } from "../homes.ts";
import type { Runtime } from "../runtime.ts";
import { DatabaseStalled, TRIES, TRY_LIMIT_MS } from "./run-batch.ts";

/** How long a database may give no answer before it counts as stalled, in milliseconds: as long as two tries. */
const SILENT_MS = 2 * TRY_LIMIT_MS;

interface Databases {
  directory: D1Database;
  /** By the names of the homes. */
  homes: ReadonlyMap<string, D1Database>;
}

/** The calls of a database since its last answer, in milliseconds of the runtime's `elapsed`. */
interface DatabaseSilence {
  /** When the first calls began. There is one more than the tries of a request, so the last one belongs to another request. */
  firsts: number[];
  /** When the last call began. */
  last: number;
  /** When the one permitted try at a stalled database gives up. */
  probeUntil: number;
}

/**
 * Keeps an isolate's requests away from a database that stalls. A stalled D1 answers nobody for a minute, and each further call waits in
 * the same queue. A database counts as stalled when nobody has had an answer for {@link SILENT_MS}, and more tries wait than one request
 * may make. Then it gets one try at a time, and each other call throws {@link DatabaseStalled} at once. Any answer ends this, also a late one.
 */
export class Stalls {
  readonly #runtime: Pick<Runtime, "elapsed">;
  readonly #guarded = new WeakMap<Databases, Databases>();
  /** It holds numbers and no promises, because a request that is cut off never ends what it began. */
  readonly #silences = new Map<string, DatabaseSilence>();

  constructor(runtime: Pick<Runtime, "elapsed">) {
    this.#runtime = runtime;
  }

  /** The same settings with guarded databases. */
  guardDatabases<T extends Databases>(config: T): T {
    const guardedConfig = this.#guarded.get(config) as T | undefined;
    if (guardedConfig !== undefined) return guardedConfig;
    const homes = new Map([...config.homes].map(([home, db]) => [home, this.#database(home, db)]));
    // `main` and the directory must be the same object, because code compares the two.
    const guarded = { ...config, directory: homes.get(MAIN_HOME) ?? config.directory, homes };
    this.#guarded.set(config, guarded);
    return guarded;
  }

  /** Guards the methods of a database that the code calls. */
  #database(home: string, db: D1Database): D1Database {
    const ask: AskDatabase = (call) => this.#ask(home, call);
    const guarded: Pick<D1Database, "prepare" | "batch"> = {
      prepare: (sql) => new GuardedStatement(db.prepare(sql), ask) as unknown as D1PreparedStatement,
      batch: (statements) => ask(() => db.batch(statements.map(sentOf))),
    };
    return guarded as D1Database;
  }

  async #ask<T>(home: string, call: () => Promise<T>): Promise<T> {
    this.#admit(home);
    try {
      const answer = await call();
      this.#silences.delete(home);
      return answer;
    } catch (error) {
      if (isAnswer(error)) this.#silences.delete(home);
      throw error;
    }
  }

  #admit(home: string): void {
    const now = this.#runtime.elapsed();
    const silence = this.#silences.get(home);
    if (silence === undefined || now - silence.last > SILENT_MS) {
      this.#silences.set(home, { firsts: [now], last: now, probeUntil: now });
      return;
    }
    const { firsts } = silence;
    if (isStalled(firsts, now)) {
      if (now < silence.probeUntil) throw new DatabaseStalled(now - (firsts[0] ?? now));
      silence.probeUntil = now + TRY_LIMIT_MS;
    }
    silence.last = now;
    if (firsts.length <= TRIES) firsts.push(now);
  }
}

function isStalled(firsts: readonly number[], now: number): boolean {
  const [first = now, firstOfAnother = now] = [firsts[0], firsts[TRIES]];
  return now - first >= SILENT_MS && now - firstOfAnother >= TRY_LIMIT_MS;
}

type AskDatabase = <T>(call: () => Promise<T>) => Promise<T>;

/** A lost connection is no answer of D1, although its message may have D1's prefix. */
const isAnswer = (error: unknown): boolean =>
  error instanceof Error && /^D1_(?!ERROR: Network connection lost)/.test(error.message);

class GuardedStatement {
  readonly sent: D1PreparedStatement;
  readonly #ask: AskDatabase;

  constructor(statement: D1PreparedStatement, ask: AskDatabase) {
    this.sent = statement;
    this.#ask = ask;
  }

  bind(...values: unknown[]): GuardedStatement {
    return new GuardedStatement(this.sent.bind(...values), this.#ask);
  }

  all() {
    return this.#ask(() => this.sent.all());
  }

  run() {
    return this.#ask(() => this.sent.run());
  }

  first() {
    return this.#ask(() => this.sent.first());
  }

  raw() {
    return this.#ask(() => this.sent.raw());
  }
}

const sentOf = (statement: D1PreparedStatement): D1PreparedStatement => (statement as unknown as GuardedStatement).sent;
