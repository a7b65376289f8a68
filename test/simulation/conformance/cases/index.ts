import type { Cases } from "../case.ts";
import { answerCases } from "./d1-answers.ts";
import { batchCases } from "./d1-batches.ts";
import { errorCases } from "./d1-errors.ts";
import { randomCases } from "./d1-random.ts";
import { valueCases } from "./d1-values.ts";
import { kvCases } from "./kv.ts";
import { queueCases } from "./queue.ts";
import { rateLimitCases } from "./rate-limit.ts";
import { serviceCases } from "./service.ts";
import { subtleCases } from "./subtle.ts";

export const d1Cases: Cases<D1Database> = {
  ...valueCases,
  ...answerCases,
  ...batchCases,
  ...errorCases,
  ...randomCases,
};

export { kvCases, queueCases, rateLimitCases, serviceCases, subtleCases };

/**
 * A database that has inserted one row, so that last_insert_rowid() is 1 when a case begins. It inserts twice, because
 * workerd inserts a row of its own after the first call.
 */
export async function used(db: D1Database): Promise<D1Database> {
  const insert = ["CREATE TABLE used (a)", "INSERT INTO used VALUES (1)", "DROP TABLE used"];
  for (let i = 0; i < 2; i++) await db.batch(insert.map((sql) => db.prepare(sql)));
  return db;
}
