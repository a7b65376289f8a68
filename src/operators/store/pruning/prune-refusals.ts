import { and, eq, lt, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { firstRequestIdAt } from "../../../core/request-id.ts";
import { homeSites } from "../../../core/store/schema.ts";
import { refusals } from "../journal-schema.ts";
import { folds } from "../usage-schema.ts";
import { inChunks, type PruneRun } from "./pruner.ts";

/** Deletes refused calls that are old enough and counted. Ids sort by time: few other rows are read, unless counting is far behind. */
export function pruneRefusals(run: PruneRun, db: D1Database): AsyncGenerator<number, void> {
  const store = drizzle(db);
  const { siteId, requestId } = refusals;
  const isCounted = sql`${refusals.at} <= coalesce((SELECT ${folds.refusalsUntil} FROM ${folds}), ${refusals.at})`;
  const oldRefusals = store
    .select({ siteId, requestId })
    .from(homeSites)
    .crossJoin(refusals)
    .where(and(eq(siteId, homeSites.siteId), lt(requestId, firstRequestIdAt(run.journalKeptUntil + 1)), isCounted))
    .limit(run.chunkRows);
  return inChunks(run, () => store.delete(refusals).where(sql`(${siteId}, ${requestId}) IN ${oldRefusals}`).run());
}
