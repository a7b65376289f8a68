/**
 * Runs in workerd, in front of the production bundle and of the Workers beside it: hands each request on to the module that its
 * `x-bench` header names, with bindings that take simulated round trips and write down what is asked of them.
 */
import { countingLimits } from "./counter-limit.ts";
import { type Bound, type KvFault, observe, PRODUCTION, type Recording, type Trips } from "./observed-bindings.ts";

export interface Orders extends Partial<Trips> {
  /** A module, fresh modules being fresh isolates as far as its caches know. The production bundle unless said. */
  module?: string;
  /** False leaves NONCES unbound. */
  nonces?: boolean;
  /** Instead of the REPLAY_LOOK_MS of wrangler.toml. */
  lookMs?: number;
  kvFault?: KvFault;
  /** Each database is one queue, and works on its calls for as long as SERVICE_MS says, one after the other and from its start. */
  queued?: boolean;
  record?: boolean;
  stall?: Recording["stall"];
}

interface Env extends Bound {
  SERVICE_MS?: number[];
}

let recording: Recording | undefined;
/** Of what the queue brought since the last recording began. */
let delivering: Recording | undefined;
const environments = new Map<string, Bound>();
/** When each database has done all that it was asked so far, and how many calls that were. */
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
      await worker.scheduled({ scheduledTime, cron: "*/5 * * * *", noRetry: () => {} } as never, observed, context);
      return new Response();
    }
    return worker.fetch(request as never, observed, context);
  },

  async queue(batch, env, context) {
    const worker = ((await import(PRODUCTION)) as { default: Required<ExportedHandler<Bound>> }).default;
    await worker.queue(
      batch,
      environment(env, "the queue", {}, () => delivering),
      context,
    );
  },
} satisfies ExportedHandler<Env>;

/** One per isolate and kind of order, as in production: what a Worker keeps by its env must be kept here too. */
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

/** A place in the queue is a time and no promise: a request may not wait for what another request has begun. */
function queueMs(binding: string, times: number[]): number {
  const now = Date.now();
  const { freeAt, calls } = queues.get(binding) ?? { freeAt: 0, calls: 0 };
  const end = Math.max(now, freeAt) + (times[calls % times.length] ?? 0);
  queues.set(binding, { freeAt: end, calls: calls + 1 });
  return end - now;
}
