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
async function sent(platform: QueuePlatform, bodies: unknown[], handle: Handler, wait?: number) {
  const batches = collect(platform, handle);
  await platform.queue.sendBatch(each(bodies));
  await settled(wait);
  return batches;
}

const count = (length: number) => Array.from({ length }, (_, i) => i);
const long = (length: number) => "x".repeat(length - 2);

/** What a handler says at the first attempt of `a`, `b` and `c`. */
const SAID: Record<string, Handler> = {
  "what a handler throws for comes again, four times in all": () => Promise.reject(new Error("not now")),
  "who fails gets all again, what was acknowledged too": ({ messages: [first] }) => {
    first?.ack();
    if (first?.attempts === 1) throw new Error("not now");
  },
  "only the message that is to be retried comes again": ({ messages }) => {
    for (const message of messages) if (message.body === "b") message.retry();
  },
  "who asks for all again gets all again, what was acknowledged too": (batch) => {
    batch.messages.find(({ body }) => body === "b")?.ack();
    if (batch.messages[0]?.attempts === 1) batch.retryAll();
  },
  "what is said of a message first counts": ({ messages: [first, second] }) => {
    if (first?.attempts !== 1) return;
    first.ack();
    first.retry();
    second?.retry();
    second?.ack();
  },
  "a word about all counts over later ones, about all or about a message": (batch) => {
    if (batch.messages[0]?.attempts !== 1) return;
    batch.ackAll();
    batch.retryAll();
    batch.messages[0].retry();
  },
};

export const queueCases: Cases<QueuePlatform> = {
  "a message arrives once, a copy, with an id, a time and its body": async ({ queue, consume }) => {
    const seen: unknown[] = [];
    consume(({ queue: name, messages, metadata }) => {
      for (const { id, timestamp, body, attempts } of messages) {
        const age = Date.now() - timestamp.getTime();
        seen.push({ id: /^[0-9a-f]{32}$/.test(id), name: name.replace(/\d+/, "n"), timely: age >= 0 && age < 60_000 });
        seen.push({ body, attempts, metadata: Object.keys(metadata) });
      }
    });
    const body = { a: [1, "二", null], nested: { b: true }, left: undefined, at: new Date(0) };
    const sending = queue.send(body, json);
    body.nested.b = false;
    const answer = await sending;
    await settled();
    return [seen, Object.keys(answer), Object.keys(answer.metadata)];
  },
  "100 messages may be sent at once, and arrive in batches of six": (platform) =>
    sent(platform, count(100), () => {}, 2_000),
  "sends nothing of what is too many, too long or too late": async (platform) => {
    const batches = collect(platform);
    const { queue } = platform;
    const late = { ...json, delaySeconds: 86_401 };
    const calls = [
      () => queue.sendBatch(each(count(101))),
      () => queue.sendBatch([]),
      () => queue.send(long(128_001), json),
      () => queue.sendBatch(each([1, long(128_001)])),
      () => queue.sendBatch(each([long(100_000), long(100_000), long(100_000)])),
      () => queue.send(1, late),
      () => queue.send(1, { ...json, delaySeconds: -1 }),
      () => queue.sendBatch(each([1]), { delaySeconds: 86_401 }),
      () => queue.sendBatch([{ body: 1, ...late }]),
    ];
    const errors: unknown[] = [];
    for (const call of calls) errors.push(await errorOf(call));
    await queue.send(1, { ...json, delaySeconds: 86_400 });
    await queue.send(long(128_000), json);
    await settled();
    return [errors, batches.flat().length];
  },
  "a message's own delay counts, or else that of its batch or of its retry": async (platform) => {
    const batches = collect(platform, ({ messages }) => {
      for (const message of messages) {
        if (message.body === "again" && message.attempts === 1) message.retry({ delaySeconds: 1 });
      }
    });
    const soon = ["at once", "again"].map((body) => ({ body, ...json, delaySeconds: 0 }));
    await platform.queue.sendBatch([...soon, ...each(["late"])], { delaySeconds: 1 });
    await settled();
    const before = structuredClone(batches);
    await settled(1_000);
    return [before, batches.flat().length];
  },
  ...Object.fromEntries(
    Object.entries(SAID).map(([name, handle]) => [
      name,
      (platform: QueuePlatform) => sent(platform, ["a", "b", "c"], handle),
    ]),
  ),
  "work that goes on after the handler has returned holds up no other batch": async (platform) => {
    const log: string[] = [];
    platform.consume(({ messages }, waitUntil) => {
      for (const { body } of messages) {
        log.push(`${body} begins`);
        if (body === 1) waitUntil(sleep(3_000).then(() => log.push(`${body} ends`)));
      }
    });
    await platform.queue.send(1, json);
    await settled();
    await platform.queue.send(2, json);
    await settled(3_200);
    return log;
  },
};
