import { type Cases, errorOf } from "../case.ts";

/** A consumer's handler, which may go on working after it has returned. */
type Handler = (batch: MessageBatch, waitUntil: (work: Promise<unknown>) => void) => unknown;

/** A queue whose consumer takes up to six messages in a batch, and each message at most four times. */
export interface QueuePlatform {
  queue: Queue;
  /** Must be called before the first message is sent. */
  consume(handler: Handler): void;
}

const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/**
 * Waits longer than an undelayed message needs. It waits in many short steps, so that other timers of a busy machine
 * can fire in between.
 */
async function settled(milliseconds = 400): Promise<void> {
  for (let i = 0; i < 25; i++) await sleep(milliseconds / 25);
}

const json = { contentType: "json" } as const;
const each = (bodies: unknown[]) => bodies.map((body) => ({ body, ...json }));

/** Collects the batches that arrive: the bodies, each with the number of its attempt. */
function collect({ consume }: QueuePlatform, handle: Handler = () => {}) {
  const batches: unknown[][] = [];
  consume((batch, waitUntil) => {
    batches.push(batch.messages.map(({ body, attempts }) => ({ body, attempts })));
    return handle(batch, waitUntil);
  });
  return batches;
}

/** Sends messages and returns the batches that arrive, until no more come. */
async function sent(platform: QueuePlatform, bodies: unknown[], handle: Handler) {
  const batches = collect(platform, handle);
  await platform.queue.sendBatch(each(bodies));
  await settled();
  return batches;
}

const long = (length: number) => "x".repeat(length - 2);
const refused = (platform: QueuePlatform, bodies: unknown[], options?: object) =>
  errorOf(() => platform.queue.sendBatch(each(bodies), options as never));

export const queueCases: Cases<QueuePlatform> = {
  "a message arrives once, with an id, a time and its body": async ({ queue, consume }) => {
    const seen: unknown[] = [];
    consume(({ queue: name, messages, metadata }) => {
      for (const { id, timestamp, body, attempts } of messages) {
        const age = Date.now() - timestamp.getTime();
        seen.push({ id: /^[0-9a-f]{32}$/.test(id), name: name.replace(/\d+/, "n"), timely: age >= 0 && age < 60_000 });
        seen.push({ body, attempts, metadata: Object.keys(metadata) });
      }
    });
    const answer = await queue.send({ a: [1, "二", null], nested: { b: true } }, json);
    await settled();
    return [seen, Object.keys(answer), Object.keys(answer.metadata)];
  },
  "what is sent is a copy": async (platform) => {
    const batches = collect(platform);
    const body = { a: 1, left: undefined, at: new Date(0) };
    const sending = platform.queue.send(body, json);
    body.a = 2;
    await sending;
    await settled();
    return batches;
  },
  "a batch of messages arrives in batches of six": (platform) => sent(platform, [1, 2, 3, 4, 5, 6, 7, 8], () => {}),
  "100 messages may be sent at once": async (platform) => {
    const bodies = Array.from({ length: 100 }, (_, i) => i);
    return (await sent(platform, bodies, () => {})).flat();
  },
  "101 messages are too many, and none arrives": async (platform) => {
    const batches = collect(platform);
    const error = await refused(
      platform,
      Array.from({ length: 101 }, (_, i) => i),
    );
    await settled();
    return [error, batches];
  },
  "no messages are none to send": (platform) => refused(platform, []),
  "a message has up to 128,000 bytes": async (platform) => {
    const batches = collect(platform);
    await platform.queue.send(long(128_000), json);
    const errors = [
      await errorOf(() => platform.queue.send(long(128_001), json)),
      await refused(platform, [1, long(128_001)]),
      await refused(platform, [long(100_000), long(100_000), long(100_000)]),
    ];
    await settled();
    return [errors, batches.flat().length];
  },
  "a delay is up to a day long": async ({ queue, consume }) => {
    consume(() => {});
    await queue.send(1, { ...json, delaySeconds: 86_400 });
    await queue.send(1, { ...json, delaySeconds: 0 });
    return [
      await errorOf(() => queue.send(1, { ...json, delaySeconds: 86_401 })),
      await errorOf(() => queue.send(1, { ...json, delaySeconds: -1 })),
      await errorOf(() => queue.sendBatch([{ body: 1, ...json }], { delaySeconds: 86_401 })),
      await errorOf(() => queue.sendBatch([{ body: 1, ...json, delaySeconds: 86_401 }])),
    ];
  },
  "a message's own delay counts, or else that of its batch": async (platform) => {
    const batches = collect(platform);
    const late = [{ body: "at once", ...json, delaySeconds: 0 }, ...each(["late"])];
    await platform.queue.sendBatch(late, { delaySeconds: 1 });
    await settled();
    const before = structuredClone(batches);
    await settled(1_000);
    return [before, batches];
  },
  "what a handler throws for comes again, four times in all": (platform) =>
    sent(platform, [1, 2], () => Promise.reject(new Error("not now"))),
  "who fails gets all again, what was acknowledged too": (platform) =>
    sent(platform, ["a", "b"], ({ messages: [first] }) => {
      first?.ack();
      if (first?.attempts === 1) throw new Error("not now");
    }),
  "only the message that is to be retried comes again": (platform) =>
    sent(platform, ["a", "b", "c"], ({ messages }) => {
      for (const message of messages) if (message.body === "b") message.retry();
    }),
  "who asks for all again gets all again, what was acknowledged too": (platform) =>
    sent(platform, ["a", "b", "c"], (batch) => {
      batch.messages.find(({ body }) => body === "b")?.ack();
      if (batch.messages[0]?.attempts === 1) batch.retryAll();
    }),
  "what is said of a message first counts": (platform) =>
    sent(platform, ["a", "b"], ({ messages: [first, second] }) => {
      if (first?.attempts !== 1) return;
      first.ack();
      first.retry();
      second?.retry();
      second?.ack();
    }),
  "of two words about all, the first counts": (platform) =>
    sent(platform, ["a", "b"], (batch) => {
      if (batch.messages[0]?.attempts !== 1) return;
      batch.ackAll();
      batch.retryAll();
    }),
  "a word about all counts over a later one about a message": (platform) =>
    sent(platform, ["a", "b"], (batch) => {
      if (batch.messages[0]?.attempts !== 1) return;
      batch.ackAll();
      batch.messages[0].retry();
    }),
  "who asks for a message again may say when": async (platform) => {
    const batches = collect(platform, ({ messages: [message] }) => {
      if (message?.attempts === 1) message.retry({ delaySeconds: 1 });
    });
    await platform.queue.send(1, json);
    await settled();
    const before = structuredClone(batches);
    await settled(1_000);
    return [before, batches];
  },
  "work that goes on after the handler has returned holds up no other batch": async (platform) => {
    const log: string[] = [];
    platform.consume(({ messages }, waitUntil) => {
      for (const { body } of messages) {
        log.push(`${body} begins`);
        if (body === 1) waitUntil(sleep(1_000).then(() => log.push(`${body} ends`)));
      }
    });
    await platform.queue.send(1, json);
    await settled();
    await platform.queue.send(2, json);
    await settled(1_200);
    return log;
  },
};
