/**
 * Runs in workerd, in front of `worker.js`, and binds rate limits. Miniflare's simulation of them is far slower than the platform.
 */
import { countingLimits } from "./counter-limit.ts";

const MODULE: string = "./worker.js";
const { default: worker } = (await import(MODULE)) as { default: Required<ExportedHandler> };
let limited: object | undefined;

export default {
  fetch(request, env, context) {
    // One env for each isolate, as in production, because a Worker may cache values by its env.
    limited ??= { ...(env as object), ...countingLimits() };
    return worker.fetch(request as never, limited, context);
  },
  queue: (batch, env, context) => worker.queue(batch, limited ?? env, context),
} satisfies ExportedHandler;
