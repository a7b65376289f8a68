import { replacing } from "./replacing.ts";

/** A database that fails each query of the usage tables, but not the probe of a home, which names every table. */
export const withoutUsage = (db: D1Database): D1Database =>
  replacing(db, {
    prepare(query: string) {
      if (/\busage\b/.test(query) && !query.includes("WHERE 0")) throw new Error("D1_ERROR: D1 DB is overloaded.");
      return db.prepare(query);
    },
  });
