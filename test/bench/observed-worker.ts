/**
 * Runs in workerd, in front of the production bundle and its peers. It hands each request to the module that the
 * `x-bench` header names, with bindings that add simulated round trips and record the calls.
 */
import { countingLimits } from "./counter-limit.ts";
import { type Bound, type KvFault, observe, PRODUCTION, type Recording, type Trips } from "./observed-bindings.ts";

export interface Orders extends Partial<Trips> {
  /**
   * The module to run; the production bundle when undefined. A fresh module starts with empty caches, like a new
   * isolate.
   */
  module?: string;
  /** False leaves NONCES unbound. */
  nonces?: boolean;
  /** Replaces the REPLAY_LOOK_MS of wrangler.toml. */
  lookMs?: number;
  kvFault?: KvFault;
  /** Makes each database one queue: it works on one call at a time, and SERVICE_MS gives the service times in order. */
  queued?: boolean;
  record?: boolean;
  stall?: Recording["stall"];
}

interface Env extends Bound {
  SERVICE_MS?: number[];
  /** The round trip to D1 of the queue's deliveries, in milliseconds; 0 when undefined. */
  QUEUE_D1_MS?: number;
}

let recording: Recording | undefined;
/** The calls of the queue's deliveries since the last recording began. */
let delivering: Recording | undefined;
const environments = new Map<string, Bound>();
/** For each database: when its queue is empty, and how many calls it has had. */
const queues = new Map<string, { freeAt: number; calls: number }>();

export default {
  async fetch(request, env, context) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/bench/calls") return Response.json(recording?.calls ?? []);
    if (pathname === "/bench/delivering") return Response.json(delivering?.calls ?? []);
    const orders = JSON.parse(request.headers.get("x-bench") ?? "{}") as Orders;
    if (orders.record === true) {
      recording = { calls: [], stall: orders.stall };
      delivering = { calls: [], stall: undefined };
    }
    const { module = PRODUCTION } = orders;
    const worker = ((await import(module)) as { default: Required<ExportedHandler<Bound>> }).default;
    const observed = environment(env, module, orders);
    if (pathname === "/bench/scheduled") {
      const scheduledTime = Number(searchParams.get("time"));
      const cron = searchParams.get("cron");
      await worker.scheduled({ scheduledTime, cron, noRetry: () => {} } as never, observed, context);
      return new Response();
    }
    return worker.fetch(request as never, observed, context);
  },

  async queue(batch, env, context) {
    const worker = ((await import(PRODUCTION)) as { default: Required<ExportedHandler<Bound>> }).default;
    await worker.queue(
      batch,
      environment(env, "the queue", { d1: env.QUEUE_D1_MS ?? 0 }, () => delivering),
      context,
    );
  },
} satisfies ExportedHandler<Env>;

/** One env per isolate and kind of order, as in production, where the Worker caches values per env. */
function environment(env: Env, module: string, orders: Orders, into = () => recording): Bound {
  const { d1 = 0, d1By = {}, kv = 0, nonces = true, lookMs, kvFault, queued = false } = orders;
  const name = JSON.stringify([module, d1, d1By, kv, nonces, lookMs, kvFault, queued]);
  const known = environments.get(name);
  if (known !== undefined) return known;
  const made: Bound & Record<string, unknown> = {
    ...observe<Bound>(env, {
      trips: { d1, d1By, kv },
      kvFault,
      recording: into,
      queueMs: (binding) => (queued ? queueMs(binding, env.SERVICE_MS ?? []) : 0),
    }),
    ...countingLimits(),
    ...(lookMs !== undefined && { REPLAY_LOOK_MS: String(lookMs) }),
  };
  if (!nonces) delete (made as Partial<Bound>).NONCES;
  environments.set(name, made);
  return made;
}

/**
 * A place in the queue is a time and not a promise, because workerd forbids a request to await the I/O of another
 * request.
 */
function queueMs(binding: string, times: number[]): number {
  const now = Date.now();
  const { freeAt, calls } = queues.get(binding) ?? { freeAt: 0, calls: 0 };
  const end = Math.max(now, freeAt) + (times[calls % times.length] ?? 0);
  queues.set(binding, { freeAt: end, calls: calls + 1 });
  return end - now;
}
