import { createApp } from "./app.ts";
import { type Bindings, settingsOf } from "./env.ts";
import { pruneKeys, pruneNonces } from "./store/prune.ts";

const app = createApp();

export default {
  fetch: app.fetch,

  /** Prunes what has expired: nonces at each run of the cron trigger (wrangler.toml), idempotency keys at an hour's first. */
  async scheduled(controller, env) {
    const { directory } = settingsOf(env);
    const now = Math.floor(controller.scheduledTime / 1000);
    const nonces = await pruneNonces(directory, now);
    const keys = now % 3600 < 300 ? await pruneKeys(directory, now) : 0;
    console.log(JSON.stringify({ pruned: { nonces, keys } }));
  },
} satisfies ExportedHandler<Bindings>;
