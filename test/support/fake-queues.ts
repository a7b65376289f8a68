import { randomUUID } from "node:crypto";
import { type Call, failure, type Reply } from "./fake-api.ts";

interface FakeQueue {
  id: string;
  /** The consumer, by the Worker's name. A queue has at most one. */
  consumers: Map<string, { id: string; settings: unknown }>;
}

export class FakeQueues {
  readonly byName = new Map<string, FakeQueue>();
  /** The error for an account that may not use queues. */
  refused: { code: number; message: string } | undefined;

  /** Adds a queue, with a consumer if a Worker is named. */
  add(name: string, consumer?: string): FakeQueue {
    const queue: FakeQueue = { id: newId(), consumers: new Map() };
    if (consumer !== undefined) queue.consumers.set(consumer, { id: newId(), settings: {} });
    this.byName.set(name, queue);
    return queue;
  }

  rename(newName: (name: string) => string): void {
    const queues = [...this.byName];
    this.byName.clear();
    for (const [name, { id, consumers }] of queues) {
      const others = [...consumers].map(([worker, consumer]) => [newName(worker), consumer] as const);
      this.byName.set(newName(name), { id, consumers: new Map(others) });
    }
  }

  answer(call: Call, id: string | undefined, kind: string | undefined, consumerId: string): Reply | undefined {
    if (id === undefined) return call.method === "GET" ? this.#list(call) : this.#create(call);
    const [name, queue] = [...this.byName].find(([, each]) => each.id === id) ?? [];
    if (name === undefined || queue === undefined) return failure(404, 11000, "workers.api.error.queue_not_found");
    return kind === "consumers" ? consume(call, name, queue, consumerId) : undefined;
  }

  #list({ searchParams }: Call): Reply {
    const names = searchParams.getAll("name");
    const askedQueues = [...this.byName].filter(([name]) => names.length === 0 || names.includes(name));
    return { result: askedQueues.map(([name, queue]) => publicQueue(name, queue)) };
  }

  #create({ body }: Call): Reply {
    const { queue_name: name } = JSON.parse(body.toString());
    if (this.refused !== undefined) return failure(403, this.refused.code, this.refused.message);
    if (this.byName.has(name)) return failure(409, 11009, `Queue name '${name}' is already taken.`);
    return { result: publicQueue(name, this.add(name)) };
  }
}

function consume({ method, body }: Call, name: string, queue: FakeQueue, consumerId: string): Reply | undefined {
  if (method === "GET") return { result: consumersOf(name, queue) };
  const { script_name: worker, settings } = JSON.parse(body.toString());
  const ownConsumer = queue.consumers.get(worker);
  if (method === "PUT" && ownConsumer?.id === consumerId) queue.consumers.set(worker, { ...ownConsumer, settings });
  else if (method !== "POST") return undefined;
  else if (queue.consumers.size > 0) return failure(400, 11004, "workers.api.error.consumer_exists");
  else queue.consumers.set(worker, { id: newId(), settings });
  return { result: consumersOf(name, queue)[0] };
}

const consumersOf = (queue_name: string, { consumers }: FakeQueue) =>
  [...consumers].map(([script, { id, settings }]) => ({
    consumer_id: id,
    queue_name,
    type: "worker",
    script,
    settings,
  }));

const publicQueue = (name: string, queue: FakeQueue) => ({
  queue_id: queue.id,
  queue_name: name,
  created_on: "2026-11-01T00:00:00Z",
  modified_on: "2026-11-01T00:00:00Z",
  producers: [],
  producers_total_count: 0,
  consumers: consumersOf(name, queue),
  consumers_total_count: queue.consumers.size,
});

const newId = () => randomUUID().replaceAll("-", "");
