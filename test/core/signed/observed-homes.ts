import { env } from "cloudflare:workers";
import { replacing } from "../../support/replacing.ts";

/** How many statements a database has prepared, and how many batches it got. */
interface AskedCounts {
  statements: number;
  batches: number;
}

const observe = (db: D1Database, command: AskedCounts): D1Database =>
  replacing(db, {
    prepare: (sql: string) => {
      command.statements += 1;
      return db.prepare(sql);
    },
    batch: (statements: D1PreparedStatement[]) => {
      command.batches += 1;
      return db.batch(statements);
    },
  });

/** Both homes, or their replacements, and the calls to each since the last look. */
export function observedHomes({ main = env.DB, apac = env.HOME_APAC } = {}) {
  const counts = { main: { statements: 0, batches: 0 }, apac: { statements: 0, batches: 0 } };
  return {
    bindings: { DB: observe(main, counts.main), HOME_APAC: observe(apac, counts.apac) },
    /** Returns the counts and resets them to zero. */
    look: () => {
      const copy = structuredClone(counts);
      for (const each of Object.values(counts)) Object.assign(each, { statements: 0, batches: 0 });
      return copy;
    },
  };
}

export const NOTHING: AskedCounts = { statements: 0, batches: 0 };
