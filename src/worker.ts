import { createApp } from "./app.ts";
import { type Bindings, readConfig } from "./config.ts";
import { type Runtime, systemRuntime } from "./runtime.ts";
import { prune } from "./store/prune.ts";
import { consoleTelemetry, type Telemetry } from "./telemetry/telemetry.ts";

/**
 * Everything that the platform calls, with one isolate's memory.
 *
 * @param runtime   time and chance; the simulator gives its own
 * @param telemetry where records go
 */
export function createWorker(runtime: Runtime = systemRuntime, telemetry: Telemetry = consoleTelemetry) {
  const app = createApp(runtime, telemetry);
  return {
    fetch: app.fetch,

    /** The cron trigger of wrangler.toml: deletes what has expired. Throws when a table of a home failed, so that Cloudflare shows a failed run. */
    async scheduled(controller, env) {
      const since = runtime.elapsed();
      const config = readConfig(env, telemetry);
      const { removed, faults } = await prune(runtime, config, Math.floor(controller.scheduledTime / 1000));
      const failed = Object.entries(faults).flatMap(([home, tables]) =>
        Object.keys(tables).map((table) => `${home}.${table}`),
      );
      telemetry.job({
        job: "prune",
        outcome: failed.length > 0 ? "failed" : "ok",
        pruned: removed,
        ...(failed.length > 0 && { not_pruned: faults }),
        ms: Math.round(runtime.elapsed() - since),
      });
      if (failed.length > 0) throw new Error(`not pruned: ${failed.join(", ")}`);
    },
  } satisfies ExportedHandler<Bindings>;
}
