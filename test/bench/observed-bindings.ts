/** Runs in workerd. D1 and KV bindings that add a simulated round trip to each call and record the call. */

export interface Call {
  /** DB, NONCES, CREDENTIALS, or HOME_ with the name of a home. */
  binding: string;
  method: string;
  rowsRead: number;
  rowsWritten: number;
  done: boolean;
  statements: { sql: string; values: (string | number | null)[] }[];
}

/** Round trips in milliseconds. */
export interface Trips {
  d1: number;
  kv: number;
}

/** `no-record`: CREDENTIALS is empty. `failing`: reads of KV fail, and writes are lost. */
export type KvFault = "no-record" | "failing";

export const PRODUCTION = "./production.js";

export interface Bound {
  DB: D1Database;
  NONCES: KVNamespace;
  CREDENTIALS: KVNamespace;
  [home: `HOME_${string}`]: D1Database;
}

interface Observing {
  trips: Trips;
  kvFault: KvFault | undefined;
  /** The list to which each call is added. It is read when the call starts. */
  recording: () => Call[];
}

export function observe<Env extends Bound>(env: Env, { trips, kvFault, recording }: Observing): Env {
  async function trip<T>(
    binding: string,
    method: string,
    run: () => Promise<T>,
    statements?: Call["statements"],
  ): Promise<T> {
    const call: Call = { binding, method, rowsRead: 0, rowsWritten: 0, done: false, statements: statements ?? [] };
    recording().push(call);
    const ms = statements === undefined ? trips.kv : trips.d1;
    if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
    try {
      const answer = await run();
      for (const result of [answer].flat() as ({ meta?: D1Meta } | null | undefined)[]) {
        call.rowsRead += result?.meta?.rows_read ?? 0;
        call.rowsWritten += result?.meta?.rows_written ?? 0;
      }
      return answer;
    } finally {
      call.done = true;
    }
  }

  const real = new WeakMap<D1PreparedStatement, D1PreparedStatement>();
  const sqlOf = new WeakMap<D1PreparedStatement, Call["statements"][number]>();
  function database(binding: string, db: D1Database): D1Database {
    function statement(prepared: D1PreparedStatement, sql: string, values: unknown[] = []): D1PreparedStatement {
      const text = { sql, values: values as (string | number | null)[] };
      const wrapped = {
        bind: (...bound: unknown[]) => statement(prepared.bind(...bound), sql, bound),
        all: () => trip(binding, "all", () => prepared.all(), [text]),
        run: () => trip(binding, "run", () => prepared.run(), [text]),
        // raw() does not count rows read, because all(), which counts them, loses columns with the same name.
        raw: () => trip(binding, "raw", () => prepared.raw(), [text]),
        // first() is built on all(), which reports how many rows were read.
        first: async (column?: string) => {
          const all = await trip(binding, "first", () => prepared.all<Record<string, unknown>>(), [text]);
          const row = all.results[0] ?? null;
          return row === null || column === undefined ? row : row[column];
        },
      } as unknown as D1PreparedStatement;
      real.set(wrapped, prepared);
      sqlOf.set(wrapped, text);
      return wrapped;
    }
    return {
      prepare: (sql: string) => statement(db.prepare(sql), sql),
      batch: (statements: D1PreparedStatement[]) =>
        trip(
          binding,
          "batch",
          () => db.batch(statements.map((each) => real.get(each) ?? each)),
          statements.map((each) => sqlOf.get(each)).filter((text) => text !== undefined),
        ),
    } as unknown as D1Database;
  }

  const namespace = (binding: "NONCES" | "CREDENTIALS"): KVNamespace => {
    const kv = env[binding] as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
    const call =
      (method: string) =>
      (...args: unknown[]) =>
        trip(binding, method, async () => {
          if (kvFault === "failing" && method === "get") throw new Error("KV is down");
          if (kvFault === "failing") return;
          if (kvFault === "no-record" && binding === "CREDENTIALS" && method === "get") return null;
          return kv[method]?.(...args);
        });
    return { get: call("get"), put: call("put"), delete: call("delete"), list: call("list") } as unknown as KVNamespace;
  };
  const homes = Object.entries(env as Record<string, unknown>)
    .filter(([binding]) => binding.startsWith("HOME_"))
    .map(([binding, db]) => [binding, database(binding, db as D1Database)]);
  return {
    ...env,
    DB: database("DB", env.DB),
    ...Object.fromEntries(homes),
    NONCES: namespace("NONCES"),
    CREDENTIALS: namespace("CREDENTIALS"),
  };
}
