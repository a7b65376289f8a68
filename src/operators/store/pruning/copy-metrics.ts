import { inOneBatch } from "../../../core/store/batch.ts";
import { type DatedSizes, selectCopy, writeMetrics } from "../usage/directory-metrics.ts";
import { AROUND_SECONDS } from "../usage/folds.ts";
import { readMetrics, STATEMENTS_PER_READING } from "../usage/home-metrics.ts";
import { countedCall, type PrunedPlace, type PruneRun } from "./pruner.ts";

const DAY = 86_400;

/** How long the directory keeps the sizes of a home. */
const SIZES_KEPT_SECONDS = 31 * DAY;

/** The stored sizes, with today's when the last one is a day old. */
function withToday(sizes: DatedSizes, now: number, bytes: number | null): DatedSizes {
  const keptSizes = sizes.filter(([at]) => at > now - SIZES_KEPT_SECONDS);
  const lastSizeAt = keptSizes.at(-1)?.[0] ?? 0;
  return bytes === null || now < lastSizeAt + DAY ? keptSizes : [...keptSizes, [now, bytes]];
}

/**
 * Copies the counters and gauges of a home to the directory, where a scrape reads them. The copy replaces the old counters and is not added
 * to them, so a lost answer or a second run counts nothing twice.
 */
export async function copyMetrics(run: PruneRun, db: D1Database, { home, directory }: PrunedPlace): Promise<void> {
  if (directory === undefined) return;
  const { copy: known, sizes } = await countedCall(run, 1, () => selectCopy(directory, home));
  const metrics = await countedCall(run, STATEMENTS_PER_READING, () =>
    readMetrics(db, known, run.now - run.callRules.nonceSeconds - AROUND_SECONDS),
  );
  const write = writeMetrics(directory, home, metrics, run.now, withToday(sizes, run.now, metrics.gauges.size));
  await countedCall(run, write.length, () => inOneBatch(directory, { write }));
}
