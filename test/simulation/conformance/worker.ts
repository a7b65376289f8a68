import { type Cases, outcomesOf } from "./case.ts";
import { LISTS, type ListName } from "./cases/index.ts";
import type { QueuePlatform } from "./cases/queue.ts";
import { usedTables } from "./cases/tables.ts";

/** The bindings that real-platform.ts makes: a name that ends in a number belongs to one case of its list. */
type Env = { MIGRATIONS: string[]; TWO: RateLimit; THREE: RateLimit } & Record<string, unknown>;

function database(binding: unknown) {
  const db = binding as D1Database;
  return usedTables({ db, create: (...statements) => db.batch(statements.map((sql) => db.prepare(sql))) });
}

/** The current consumer of each queue, by the queue's name. */
const consumers = new Map<string, Parameters<QueuePlatform["consume"]>[0]>();

/** The platform for the case at an index of each list. */
const PLATFORMS: Record<ListName, (env: Env, place: number) => unknown> = {
  d1: (env, place) => database(env[`D1_${place}`]),
  service: async (env, place) => ({ ...(await database(env[`SERVICE_${place}`])), migrations: env.MIGRATIONS }),
  kv: (env, place) => env[`KV_${place}`],
  queue: (env, place) => ({
    queue: env[`QUEUE_${place}`],
    consume: (handler: Parameters<QueuePlatform["consume"]>[0]) => void consumers.set(`queue-${place}`, handler),
  }),
  rateLimit: (env) => ({ two: env.TWO, three: env.THREE }),
  subtle: () => crypto.subtle,
};

/** Runs in workerd: the path of a request names a list, and the answer has the result of each of its cases. */
export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const name = new URL(request.url).pathname.slice(1) as ListName;
    return Response.json(await outcomesOf(LISTS[name] as Cases<unknown>, (place) => PLATFORMS[name](env, place)));
  },
  async queue(batch: MessageBatch, _env: Env, context: ExecutionContext): Promise<void> {
    await consumers.get(batch.queue)?.(batch, (work) => context.waitUntil(work));
  },
};
