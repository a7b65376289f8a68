/**
 * Runs in workerd, in front of `worker.js`. After `/bench/stub`, D1 and KV answer from memory with their earlier answers. So the
 * process uses CPU time only for the Worker and HTTP. The stub also writes and parses JSON for each call, as D1's client does.
 */
import { countingLimits } from "./counter-limit.ts";

interface Env {
  DB: D1Database;
  NONCES: KVNamespace;
  CREDENTIALS: KVNamespace;
}

const MODULE: string = "./worker.js";
const { default: worker } = (await import(MODULE)) as { default: Required<ExportedHandler> };
/** The answer to the last batch, by its number of statements. */
const answers = new Map<number, string>();
let environment: object | undefined;

export default {
  fetch(request, env, context) {
    if (request.url.endsWith("/bench/stub")) {
      environment = { ...env, ...countingLimits(), DB: stubDatabase(), NONCES: stubNamespace() };
      return new Response();
    }
    environment ??= { ...env, ...countingLimits(), DB: remembering(env.DB) };
    return worker.fetch(request as never, environment, context);
  },
} satisfies ExportedHandler<Env>;

function remembering(db: D1Database): D1Database {
  return {
    prepare: (sql: string) => db.prepare(sql),
    batch: async (statements: D1PreparedStatement[]) => {
      const results = await db.batch(statements);
      answers.set(statements.length, JSON.stringify(results));
      return results;
    },
  } as unknown as D1Database;
}

function stubDatabase(): D1Database {
  const statement = (sql: string, params: unknown[] = []): unknown => ({
    sql,
    params,
    bind: (...values: unknown[]) => statement(sql, values),
  });
  return {
    prepare: (sql: string) => statement(sql),
    batch: async (statements: unknown[]) => {
      const text = JSON.stringify(statements);
      // Real I/O takes at least one turn of the event loop.
      await new Promise((resolve) => setTimeout(resolve, 0));
      const answer = answers.get(statements.length);
      if (answer === undefined || text === "") throw new Error("no batch like this was seen before");
      return JSON.parse(answer);
    },
  } as unknown as D1Database;
}

const stubNamespace = () => ({ get: async () => null, put: async () => {} }) as unknown as KVNamespace;
