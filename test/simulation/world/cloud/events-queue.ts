import { readFileSync } from "node:fs";
import { join } from "node:path";
import { QueueTruth } from "../../platform/queue.ts";
import type { SimulatedBatch } from "../../platform/queue-batch.ts";
import { Call } from "../call.ts";
import type { Weather } from "../weather.ts";
import { type Air, strikes } from "./air.ts";
import type { Cloud } from "./cloud.ts";

const TOML = readFileSync(join(import.meta.dirname, "../../../../wrangler.toml"), "utf8");

/** A number of wrangler.toml. */
const setting = (name: string): number => Number(new RegExp(`^${name} = (\\d+)$`, "m").exec(TOML)?.[1]);

const CONSUMER = {
  name: "agent-session-events",
  maxBatchSize: setting("max_batch_size"),
  maxRetries: setting("max_retries"),
};

/** The queue of events. The cloud's isolates consume its batches. */
export function eventsQueue(cloud: Cloud, air: Air, { queue, edges }: Weather): QueueTruth {
  const { scheduler, chance, witness } = air;
  let batches = 0;
  const way = () => chance.between(2, 60) + (strikes(air, queue.late) ? chance.between(500, 90_000) : 0);
  return new QueueTruth(CONSUMER, {
    now: () => Math.floor(cloud.now()),
    after: (milliseconds, run) => scheduler.after(milliseconds, run),
    newId: () => Buffer.from(chance.bytes(16)).toString("hex"),
    concurrency: queue.concurrency,
    arrivals() {
      if (!strikes(air, queue.doubled)) return [way()];
      witness.note(undefined, "a message of the queue comes twice", "queue: message doubled");
      return [way(), way()];
    },
    dropped: ({ body }) => witness.note(undefined, `the queue drops ${JSON.stringify(body)}`, "queue: message dropped"),
    async consume(batch) {
      const body = JSON.stringify(batch.messages.map((message) => message.body));
      const wire = { method: "", path: batch.queue, headers: {}, body };
      const isOk = await handOver(cloud, new Call(`queue#${++batches}`, "queue", wire, chance.one(edges)), batch);
      // The platform needs some time to notice that a run has died.
      if (!isOk) await scheduler.sleep(chance.between(0, 10_000));
      return isOk;
    },
  });
}

async function handOver(cloud: Cloud, call: Call, batch: SimulatedBatch): Promise<boolean> {
  let isOk = false;
  await cloud.run(call, async ({ worker, env }, context) => {
    await worker.queue(batch as never, env as never, context as never);
    isOk = call.alive;
  });
  return isOk;
}
