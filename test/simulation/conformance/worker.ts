import { type Outcome, outcomesOf } from "./case.ts";
import { d1Cases, kvCases, queueCases, rateLimitCases, serviceCases, subtleCases, used } from "./cases/index.ts";
import type { QueuePlatform } from "./cases/queue.ts";

/**
 * The bindings that real-platform.ts makes. A name that ends in a number belongs to the case with that index in its
 * list.
 */
type Env = { MIGRATIONS: string[]; TWO: RateLimit; THREE: RateLimit } & Record<string, unknown>;

const database = (env: Env, name: string) => used(env[name] as D1Database);

/** The current consumer of each queue, by the queue's name. */
const consumers = new Map<string, Parameters<QueuePlatform["consume"]>[0]>();

const lists = {
  d1: (env: Env) => outcomesOf(d1Cases, (place) => database(env, `D1_${place}`)),
  service: (env: Env) =>
    outcomesOf(serviceCases, async (place) => ({
      db: await database(env, `SERVICE_${place}`),
      migrations: env.MIGRATIONS,
    })),
  kv: (env: Env) => outcomesOf(kvCases, (place) => env[`KV_${place}`] as KVNamespace),
  queue: (env: Env) =>
    outcomesOf(queueCases, (place) => ({
      queue: env[`QUEUE_${place}`] as Queue,
      consume: (handler) => void consumers.set(`queue-${place}`, handler),
    })),
  rateLimit: (env: Env) => outcomesOf(rateLimitCases, () => ({ two: env.TWO, three: env.THREE })),
  subtle: () => outcomesOf(subtleCases, () => crypto.subtle),
} satisfies Record<string, (env: Env) => Promise<Record<string, Outcome>>>;

export type ListName = keyof typeof lists;

/** Runs in workerd: the path of a request names a list, and the answer has the result of each of its cases. */
export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    return Response.json(await lists[new URL(request.url).pathname.slice(1) as ListName](env));
  },
  async queue(batch: MessageBatch, _env: Env, context: ExecutionContext): Promise<void> {
    await consumers.get(batch.queue)?.(batch, (work) => context.waitUntil(work));
  },
};
