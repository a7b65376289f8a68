import { createApp } from "./app.ts";
import { type Bindings, readConfig } from "./config.ts";
import { systemRuntime } from "./runtime.ts";
import { prune } from "./store/prune.ts";
import { consoleTelemetry } from "./telemetry/telemetry.ts";

const app = createApp();

export default {
  fetch: app.fetch,

  /** The cron trigger of wrangler.toml: deletes what has expired. Throws when a table of a home failed, so that Cloudflare shows a failed run. */
  async scheduled(controller, env) {
    const since = systemRuntime.elapsed();
    const config = readConfig(env, consoleTelemetry);
    const { removed, faults } = await prune(systemRuntime, config, Math.floor(controller.scheduledTime / 1000));
    const failed = Object.entries(faults).flatMap(([home, tables]) =>
      Object.keys(tables).map((table) => `${home}.${table}`),
    );
    consoleTelemetry.job({
      job: "prune",
      outcome: failed.length > 0 ? "failed" : "ok",
      pruned: removed,
      ...(failed.length > 0 && { not_pruned: faults }),
      ms: Math.round(systemRuntime.elapsed() - since),
    });
    if (failed.length > 0) throw new Error(`not pruned: ${failed.join(", ")}`);
  },
} satisfies ExportedHandler<Bindings>;
