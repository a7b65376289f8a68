import { createApp } from "./app.ts";
import { type Bindings, type Config, readConfig, type Wake } from "./config.ts";
import { type Runtime, systemRuntime } from "./runtime.ts";
import { prune } from "./store/prune.ts";
import { consoleTelemetry, type Telemetry } from "./telemetry/telemetry.ts";
import { deliver } from "./webhooks/deliver.ts";
import { sweep } from "./webhooks/sweep.ts";

/** The crons as wrangler.toml spells them. */
const SWEEP_CRON = "* * * * *";
const PRUNE_CRON = "*/5 * * * *";

/**
 * Everything that the platform calls, with one isolate's memory.
 *
 * @param runtime   time and chance; the simulator gives its own
 * @param telemetry where records go
 */
export function createWorker(runtime: Runtime = systemRuntime, telemetry: Telemetry = consoleTelemetry) {
  const app = createApp(runtime, telemetry);

  async function runPruning(config: Config, now: number): Promise<string[]> {
    const since = runtime.elapsed();
    const { removed, faults, next } = await prune(runtime, config, now);
    const failed = Object.entries(removed).flatMap(([home, tables]) =>
      Object.keys(tables).flatMap((table) => (faults[home]?.[table] === undefined ? [] : `${home}.${table}`)),
    );
    telemetry.job({
      job: "prune",
      outcome: failed.length > 0 ? "failed" : "ok",
      pruned: removed,
      ...(next !== undefined && { next }),
      ...(failed.length > 0 && { not_pruned: faults }),
      ms: Math.round(runtime.elapsed() - since),
    });
    return failed;
  }

  return {
    fetch: app.fetch,

    /** What the queue holds: which webhooks have something due. */
    async queue(batch, env, ctx) {
      const config = readConfig(env, telemetry);
      await deliver({ runtime, telemetry, config }, batch.messages, (work) => ctx.waitUntil(work));
    },

    /**
     * The crons of wrangler.toml: one wakes what is due, the other deletes what has expired; any other does both. Throws when a home
     * failed, so that Cloudflare shows a failed run.
     */
    async scheduled({ cron, scheduledTime }, env) {
      const config = readConfig(env, telemetry);
      const unswept = cron === PRUNE_CRON ? {} : await sweep({ runtime, telemetry, config });
      const unpruned = cron === SWEEP_CRON ? [] : await runPruning(config, Math.floor(scheduledTime / 1000));
      const failed = Object.entries({ "not swept": Object.keys(unswept), "not pruned": unpruned })
        .filter(([, names]) => names.length > 0)
        .map(([what, names]) => `${what}: ${names.join(", ")}`);
      if (failed.length > 0) throw new Error(failed.join("; "));
    },
  } satisfies ExportedHandler<Bindings, Wake>;
}
