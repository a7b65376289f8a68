import type { NewSession } from "../../src/store/home/create-session-batch.ts";
import { createSessionBatch } from "../../src/store/home/create-session-batch.ts";

/** A statement of the production batch: its text, and the name of each value it binds. */
export interface NamedStatement {
  sql: string;
  names: string[];
}

/** The statements of a create_gd without a key, as the production code writes them, for a Worker that binds them itself. */
export function createBatchText(): NamedStatement[] {
  // Every value is its own name, so that what is bound tells where each value goes.
  const names = new Proxy({} as NewSession, {
    get: (_, name) => (name === "key" ? null : name),
    has: () => true,
  });
  const db = {
    prepare: (sql: string) => ({
      bind: (...bound: (string | null)[]) => ({ sql, names: bound.map((name) => name ?? "key") }),
    }),
  };
  return createSessionBatch(db as unknown as D1Database, names) as unknown as NamedStatement[];
}
