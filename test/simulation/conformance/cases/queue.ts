import type { Cases } from "../case.ts";

/** A consumer's handler, which may go on working after it has returned. */
type Handler = (batch: MessageBatch, waitUntil: (work: Promise<unknown>) => void) => unknown;

/** A queue whose consumer takes up to six messages in a batch, and each message at most four times. */
export interface QueuePlatform {
  queue: Queue;
  /** Must be called before the first message is sent. */
  consume(handler: Handler): void;
}

const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Waits longer than a message without delay needs, in short steps, so that other timers can fire in between. */
async function waitForQueue(milliseconds = 400): Promise<void> {
  for (let i = 0; i < 25; i++) await sleep(milliseconds / 25);
}

const json = { contentType: "json" } as const;

/** Sends messages and returns all batches that arrive. Each message is shown as its body and its attempt. */
async function sendAndSettle({ queue, consume }: QueuePlatform, bodies: unknown[], handle: Handler, wait?: number) {
  const batches: unknown[][] = [];
  consume((batch, waitUntil) => {
    batches.push(batch.messages.map(({ body, attempts }) => ({ body, attempts })));
    return handle(batch, waitUntil);
  });
  await queue.sendBatch(bodies.map((body) => ({ body, ...json, delaySeconds: body === "late" ? 1 : 0 })));
  await waitForQueue(wait);
  return batches;
}

/** What a handler does with batches of the messages `a`, `b` and `c`. */
const HANDLED: Record<string, Handler> = {
  "a batch whose handler throws is delivered four times in all": () => Promise.reject(new Error("not now")),
  "only a message on which retry() was called is delivered again": ({ messages }) => {
    for (const message of messages) if (message.body === "b") message.retry();
  },
  "a handler that throws after retry() gets the whole batch again": ({ messages: [first, second] }) => {
    second?.retry();
    if (first?.attempts === 1) throw new Error("not now");
  },
};

export const queueCases: Cases<QueuePlatform> = {
  "a message arrives once, as a copy of its body at the time of send()": async ({ queue, consume }) => {
    const records: unknown[] = [];
    consume(({ queue: name, messages }) => {
      for (const { body, attempts } of messages) records.push({ body, attempts, name: name.replace(/\d+/, "n") });
    });
    const body = { a: [1, "二", null], nested: { b: true }, left: undefined, at: new Date(0) };
    const sending = queue.send(body, json);
    body.nested.b = false;
    await sending;
    await waitForQueue();
    return records;
  },
  "100 messages of one sendBatch() arrive in batches of six": (platform) =>
    sendAndSettle(
      platform,
      Array.from({ length: 100 }, (_, i) => i),
      () => {},
      2_000,
    ),
  "a message arrives after its delay, and again after the delay of its retry": async (platform) => {
    const batches = await sendAndSettle(platform, ["at once", "again", "late"], ({ messages }) => {
      for (const message of messages) {
        if (message.body === "again" && message.attempts === 1) message.retry({ delaySeconds: 1 });
      }
    });
    const before = structuredClone(batches);
    await waitForQueue(1_000);
    return [before, batches.flat().length];
  },
  ...Object.fromEntries(
    Object.entries(HANDLED).map(([name, handle]) => [
      name,
      (platform: QueuePlatform) => sendAndSettle(platform, ["a", "b", "c"], handle),
    ]),
  ),
  "waitUntil() work of one batch does not hold up the next batch": async (platform) => {
    const log: string[] = [];
    platform.consume(({ messages }, waitUntil) => {
      for (const { body } of messages) {
        log.push(`${body} begins`);
        if (body === 1) waitUntil(sleep(3_000).then(() => log.push(`${body} ends`)));
      }
    });
    await platform.queue.send(1, json);
    await waitForQueue();
    await platform.queue.send(2, json);
    await waitForQueue(3_200);
    return log;
  },
};
