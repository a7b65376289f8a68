import { createApp } from "./app.ts";
import { type Bindings, settingsOf } from "./config.ts";
import { prune } from "./store/prune.ts";

const app = createApp();

export default {
  fetch: app.fetch,

  /** Prunes what has expired, at each run of the cron trigger (wrangler.toml). Throws at the end when a table failed, so that Cloudflare shows it. */
  async scheduled(controller, env) {
    const { removed, faults } = await prune(settingsOf(env).directory, Math.floor(controller.scheduledTime / 1000));
    console.log(JSON.stringify({ pruned: removed }));
    const failed = Object.entries(faults);
    for (const [table, fault] of failed) console.error(JSON.stringify({ not_pruned: table, fault }));
    if (failed.length > 0) throw new Error(`not pruned: ${failed.map(([table]) => table).join(", ")}`);
  },
} satisfies ExportedHandler<Bindings>;
