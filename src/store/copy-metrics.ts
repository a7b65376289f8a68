import { drizzle } from "drizzle-orm/d1";
import { selectCopy, writeMetrics } from "./directory/metrics.ts";
import { AROUND_SECONDS } from "./home/folds.ts";
import { readMetrics, STATEMENTS_PER_READING } from "./home/metrics.ts";
import { counted, type Run, type Where } from "./pruner.ts";

/**
 * Copies the counters and gauges of a home to the directory, where a scrape reads them. The counters are copied as they are and never
 * added, so a lost answer or a second run counts nothing twice.
 */
export async function copyMetrics(run: Run, db: D1Database, { home, directory }: Where): Promise<void> {
  if (directory === undefined) return;
  const known = await counted(run, 1, () => selectCopy(directory, home));
  const metrics = await counted(run, STATEMENTS_PER_READING, () =>
    readMetrics(db, known, run.now - run.callRules.nonceSeconds - AROUND_SECONDS),
  );
  const write = writeMetrics(directory, home, metrics, run.now);
  await counted(run, write.length, () => drizzle(directory).batch(write));
}
