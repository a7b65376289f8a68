import { createApp } from "./app.ts";
import { type Bindings, settingsOf } from "./env.ts";
import { prune } from "./store/prune.ts";

const app = createApp();

export default {
  fetch: app.fetch,

  /** Prunes what has expired. On a cron trigger, wrangler.toml. */
  async scheduled(controller, env) {
    const removed = await prune(settingsOf(env).directory, Math.floor(controller.scheduledTime / 1000));
    console.log(JSON.stringify({ pruned: removed }));
  },
} satisfies ExportedHandler<Bindings>;
