/**
 * Runs in workerd, in front of the production bundle and its peers. It hands each request to the module that the
 * `x-bench` header names, with bindings that add simulated round trips and record the calls.
 */
import { countingLimits } from "./counter-limit.ts";
import { type Bound, type Call, type KvFault, observe, PRODUCTION, type Trips } from "./observed-bindings.ts";

export interface Orders extends Partial<Trips> {
  /**
   * The module to run; the production bundle when undefined. A fresh module starts with empty caches, like a new
   * isolate.
   */
  module?: string;
  kvFault?: KvFault;
}

/** Calls since `/bench/forget`: those of requests and crons, and those of the queue's deliveries. */
const calls: Record<"asked" | "delivering", Call[]> = { asked: [], delivering: [] };
const environments = new Map<string, Bound>();

export default {
  async fetch(request, env, context) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/bench/calls") return Response.json(calls);
    if (pathname === "/bench/forget") {
      Object.assign(calls, { asked: [], delivering: [] });
      return new Response();
    }
    const orders = JSON.parse(request.headers.get("x-bench") ?? "{}") as Orders;
    const { module = PRODUCTION } = orders;
    const worker = ((await import(module)) as { default: Required<ExportedHandler<Bound>> }).default;
    const observed = environment(env, module, orders, "asked");
    if (pathname === "/bench/prune") {
      const scheduledTime = Number(searchParams.get("time"));
      await worker.scheduled({ scheduledTime, cron: "*/5 * * * *", noRetry: () => {} } as never, observed, context);
      return new Response();
    }
    return worker.fetch(request as never, observed, context);
  },

  async queue(batch, env, context) {
    const worker = ((await import(PRODUCTION)) as { default: Required<ExportedHandler<Bound>> }).default;
    await worker.queue(batch, environment(env, PRODUCTION, {}, "delivering"), context);
  },
} satisfies ExportedHandler<Bound>;

/** One env per isolate and kind of order, as in production, where the Worker caches values per env. */
function environment(env: Bound, module: string, orders: Orders, into: keyof typeof calls): Bound {
  const { d1 = 0, kv = 0, kvFault } = orders;
  const name = JSON.stringify([module, d1, kv, kvFault, into]);
  const known = environments.get(name);
  if (known !== undefined) return known;
  const result = {
    ...observe<Bound>(env, { trips: { d1, kv }, kvFault, recording: () => calls[into] }),
    ...countingLimits(),
  };
  environments.set(name, result);
  return result;
}
