import { replacing } from "./replacing.ts";

const overloaded = () => {
  throw new Error("D1_ERROR: D1 DB is overloaded.");
};

/** A database that answers every statement with a fault. The fault is not worth a retry, so no test waits. */
export const downDb = (db: D1Database): D1Database => replacing(db, { prepare: overloaded, batch: overloaded });

/** A home that fails only the query that counts the calls around a refused call. */
export const downAround = (db: D1Database): D1Database =>
  replacing(db, { prepare: (sql: string) => (sql.includes("coalesce(sum(") ? downDb(db) : db).prepare(sql) });
