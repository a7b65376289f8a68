import { replacing } from "./replacing.ts";

/** A database that answers everything but questions about usage. */
export const withoutUsage = (db: D1Database): D1Database =>
  replacing(db, {
    prepare(query: string) {
      if (/\busage\b/.test(query)) throw new Error("D1_ERROR: D1 DB is overloaded.");
      return db.prepare(query);
    },
  });
