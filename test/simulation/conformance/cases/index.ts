import type { Cases } from "../case.ts";
import { batchCases } from "./d1-batches.ts";
import { errorCases } from "./d1-errors.ts";
import { randomCases } from "./d1-random.ts";
import { resultCases } from "./d1-results.ts";
import { sqlCases } from "./d1-sql.ts";
import { valueCases } from "./d1-values.ts";
import type { Store } from "./home.ts";
import { kvCases } from "./kv.ts";
import { queueCases } from "./queue.ts";
import { rateLimitCases } from "./rate-limit.ts";
import { signedCases } from "./service-signed.ts";
import { storeCases } from "./service-store.ts";
import { subtleCases } from "./subtle.ts";

export const d1Cases: Cases<D1Database> = {
  ...valueCases,
  ...resultCases,
  ...batchCases,
  ...errorCases,
  ...sqlCases,
  ...randomCases,
};
export const serviceCases: Cases<Store> = { ...signedCases, ...storeCases };
export { kvCases, queueCases, rateLimitCases, subtleCases };

/**
 * A database that has inserted one row, so that last_insert_rowid() is 1 when a case begins. It inserts twice, because
 * workerd inserts a row of its own after the first call.
 */
export async function used(db: D1Database): Promise<D1Database> {
  const insert = ["CREATE TABLE used (a)", "INSERT INTO used VALUES (1)", "DROP TABLE used"];
  for (let i = 0; i < 2; i++) await db.batch(insert.map((sql) => db.prepare(sql)));
  return db;
}
