/** Runs in workerd. D1 and KV bindings wrapped to take a simulated round trip more, and to write down what was asked of them. */

export interface Call {
  binding: string;
  method: string;
  rowsRead: number;
  rowsWritten: number;
  done: boolean;
  /** What D1 was asked to do in this one call. */
  statements: { sql: string; values: (string | number | null)[] }[];
}

/** What one request asked for. Plain data, so that a later request may read it. */
export interface Recording {
  calls: Call[];
  /** Holds one call back by so many milliseconds, by its place in `calls`. */
  stall: { call: number; ms: number } | undefined;
}

/** Round trips in milliseconds. */
export interface Trips {
  d1: number;
  kv: number;
}

/** The module that holds the production bundle. */
export const PRODUCTION = "./production.js";

export interface Bound {
  DB: D1Database;
  NONCES: KVNamespace;
  CREDENTIALS: KVNamespace;
}

/** @param recording what calls are written down in, asked when each call starts */
export function observe<Env extends Bound>(env: Env, trips: Trips, recording: () => Recording | undefined): Env {
  async function trip<T>(
    binding: string,
    method: string,
    run: () => Promise<T>,
    statements: Call["statements"] = [],
  ): Promise<T> {
    const into = recording();
    const call: Call = { binding, method, rowsRead: 0, rowsWritten: 0, done: false, statements };
    const place = into === undefined ? -1 : into.calls.push(call) - 1;
    const ms = (binding === "DB" ? trips.d1 : trips.kv) + (into?.stall?.call === place ? into.stall.ms : 0);
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
  const said = new WeakMap<D1PreparedStatement, Call["statements"][number]>();
  function statement(prepared: D1PreparedStatement, sql: string, values: unknown[] = []): D1PreparedStatement {
    const text = { sql, values: values as (string | number | null)[] };
    const wrapped = {
      bind: (...bound: unknown[]) => statement(prepared.bind(...bound), sql, bound),
      all: () => trip("DB", "all", () => prepared.all(), [text]),
      run: () => trip("DB", "run", () => prepared.run(), [text]),
      // raw() and first() by way of all(), which tells how many rows were read.
      raw: async () => {
        const all = await trip("DB", "raw", () => prepared.all<Record<string, unknown>>(), [text]);
        return all.results.map((row) => Object.values(row));
      },
      first: async (column?: string) => {
        const all = await trip("DB", "first", () => prepared.all<Record<string, unknown>>(), [text]);
        const row = all.results[0] ?? null;
        return row === null || column === undefined ? row : row[column];
      },
    } as unknown as D1PreparedStatement;
    real.set(wrapped, prepared);
    said.set(wrapped, text);
    return wrapped;
  }
  const DB = {
    prepare: (sql: string) => statement(env.DB.prepare(sql), sql),
    batch: (statements: D1PreparedStatement[]) =>
      trip(
        "DB",
        "batch",
        () => env.DB.batch(statements.map((each) => real.get(each) ?? each)),
        statements.map((each) => said.get(each)).filter((text) => text !== undefined),
      ),
  } as unknown as D1Database;

  const namespace = (binding: "NONCES" | "CREDENTIALS"): KVNamespace => {
    const kv = env[binding] as unknown as Record<string, (...given: unknown[]) => Promise<unknown>>;
    const call =
      (method: string) =>
      (...given: unknown[]) =>
        trip(binding, method, async () => kv[method]?.(...given));
    return { get: call("get"), put: call("put"), delete: call("delete") } as unknown as KVNamespace;
  };
  return { ...env, DB, NONCES: namespace("NONCES"), CREDENTIALS: namespace("CREDENTIALS") };
}
