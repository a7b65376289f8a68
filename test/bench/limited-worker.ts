/** Runs in workerd, in front of `worker.js`: binds the rate limits, which miniflare can only simulate at a cost no platform has. */
import { countingLimits } from "./counter-limit.ts";

const MODULE: string = "./worker.js";
const { default: worker } = (await import(MODULE)) as { default: Required<ExportedHandler> };
let limited: object | undefined;

export default {
  fetch(request, env, context) {
    // One for the isolate's life, as in production: a Worker may keep what it read of its env.
    limited ??= { ...(env as object), ...countingLimits() };
    return worker.fetch(request as never, limited, context);
  },
  queue: (batch, env, context) => worker.queue(batch, limited ?? env, context),
} satisfies ExportedHandler;
