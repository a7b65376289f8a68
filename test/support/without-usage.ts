import { replacing } from "./replacing.ts";

/** A database that answers everything but questions about usage. The probe of a home, which names every table, is none. */
export const withoutUsage = (db: D1Database): D1Database =>
  replacing(db, {
    prepare(query: string) {
      if (/\busage\b/.test(query) && !query.includes("WHERE 0")) throw new Error("D1_ERROR: D1 DB is overloaded.");
      return db.prepare(query);
    },
  });
