import { readFileSync } from "node:fs";
import { join } from "node:path";
import { refuseOtherProperties } from "../../not-simulated.ts";
import { QueueTruth, type SimulatedBatch } from "../../platform/queue.ts";
import type { Weather } from "../../weather/weather.ts";
import { Call } from "../call.ts";
import { faultStrikes, type NetworkState } from "./air.ts";
import type { Cloud } from "./cloud.ts";

const TOML = readFileSync(join(import.meta.dirname, "../../../../wrangler.toml"), "utf8");

/** The sections of wrangler.toml with this header. */
const sectionsOf = (header: string): string[] =>
  TOML.split(/^(?=\[)/m).filter((section) => section.startsWith(`[[${header}]]`));

const textIn = (section: string, name: string): string | undefined =>
  new RegExp(`^${name} = "?([^"\\n]+)"?$`, "m").exec(section)?.[1];

/** The queue behind a binding, with the settings of its consumer, by wrangler.toml. */
function queueOf(binding: string) {
  const producer = sectionsOf("queues.producers").find((section) => textIn(section, "binding") === binding) ?? "";
  const name = String(textIn(producer, "queue"));
  const consumer = sectionsOf("queues.consumers").find((section) => textIn(section, "queue") === name) ?? "";
  const number = (setting: string) => Number(textIn(consumer, setting));
  return {
    name,
    maxBatchSize: number("max_batch_size"),
    maxRetries: number("max_retries"),
    concurrency: number("max_concurrency"),
  };
}

const EVENTS = queueOf("EVENTS");
export const JOURNAL = queueOf("JOURNAL");

/** The queue of events. The cloud's isolates consume its batches. */
export const eventsQueue = (cloud: Cloud, air: NetworkState, weather: Weather["queue"]): QueueTruth =>
  queue(cloud, air, EVENTS, { ...weather, never: 0 });

/**
 * The queue of refused calls. It may lose messages. wrangler.toml says how many of its batches run at the same time.
 */
export const journalQueue = (cloud: Cloud, air: NetworkState, weather: Weather["journal"]): QueueTruth =>
  queue(cloud, air, JOURNAL, { ...weather, concurrency: JOURNAL.concurrency });

function queue(
  cloud: Cloud,
  air: NetworkState,
  settings: typeof EVENTS,
  weather: Weather["queue"] & Weather["journal"],
): QueueTruth {
  const { scheduler, chance, witness } = air;
  let batches = 0;
  const travelTime = () => chance.between(2, 60) + (faultStrikes(air, weather.late) ? chance.between(500, 90_000) : 0);
  return new QueueTruth(settings, {
    after: (milliseconds, run) => scheduler.after(milliseconds, run),
    newId: () => Buffer.from(chance.bytes(16)).toString("hex"),
    concurrency: weather.concurrency,
    arrivals(body) {
      if (faultStrikes(air, weather.never)) {
        witness.note(undefined, `the queue loses ${JSON.stringify(body)}`, "queue: message never comes");
        return [];
      }
      if (!faultStrikes(air, weather.doubled)) return [travelTime()];
      witness.note(undefined, "a message of the queue comes twice", "queue: message doubled");
      return [travelTime(), travelTime()];
    },
    dropped({ body }) {
      witness.note(undefined, `the queue drops ${JSON.stringify(body)}`, "queue: message dropped");
    },
    async consume(batch) {
      const body = JSON.stringify(batch.messages.map((message) => message.body));
      const wire = { method: "", path: batch.queue, headers: {}, body };
      const name = `${settings === JOURNAL ? "journal" : "queue"}#${++batches}`;
      const isOk = await handOver(cloud, new Call(name, "queue", wire, chance.one(cloud.edgeNames)), batch);
      // The platform needs some time to notice that a run has died.
      if (!isOk) await scheduler.sleep(chance.between(0, 10_000));
      return isOk;
    },
  });
}

async function handOver(cloud: Cloud, call: Call, batch: SimulatedBatch): Promise<boolean> {
  let isOk = false;
  await cloud.run(call, async ({ worker, env }, context) => {
    await worker.queue(refuseOtherProperties("a batch", batch) as never, env as never, context as never);
    isOk = call.alive;
  });
  return isOk;
}
