import { replacing } from "./replacing.ts";

const overloaded = () => {
  throw new Error("D1_ERROR: D1 DB is overloaded.");
};

/** A database that answers every statement with a fault. The fault is not worth a retry, so no test waits. */
export const downDb = (db: D1Database): D1Database => replacing(db, { prepare: overloaded, batch: overloaded });
