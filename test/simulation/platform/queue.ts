import { notSimulated } from "../not-simulated.ts";
import { type Carry, carryAtOnce } from "./d1.ts";
import { QueuedMessage, SimulatedBatch } from "./queue-batch.ts";

/** A consumer's settings in wrangler.toml. There is no batch timeout: a batch does not wait for more messages. */
interface ConsumerSettings {
  name: string;
  maxBatchSize: number;
  /** How often a message may come again before it is dropped. */
  maxRetries: number;
}

/** The functions of the world that a queue needs. */
interface QueueWorld {
  /** Milliseconds since the epoch. */
  now(): number;
  after(milliseconds: number, run: () => void): unknown;
  newId(): string;
  /** Runs the consumer. @returns whether its handler returned; false when it threw or died */
  consume(batch: SimulatedBatch): Promise<boolean>;
  /** The most batches in flight at the same time. */
  concurrency: number;
  /** Milliseconds until each copy of a message arrives; one number for each copy, none for a lost message. */
  arrivals?: (body: unknown) => number[];
  /** Called when a message is dropped. */
  dropped?: (message: QueuedMessage) => void;
}

/** A queue with its one consumer: at-least-once delivery, in no guaranteed order. */
export class QueueTruth {
  /** Called with each message that a binding has sent. */
  onTake: (body: unknown) => void = () => {};
  readonly #settings: ConsumerSettings;
  readonly #world: QueueWorld;
  #ready: QueuedMessage[] = [];
  readonly #left = new Set<QueuedMessage>();
  #inFlight = 0;
  #isScheduled = false;
  #isHeld = false;

  constructor(settings: ConsumerSettings, world: QueueWorld) {
    this.#settings = settings;
    this.#world = world;
  }

  take(body: unknown, delaySeconds: number): void {
    const { now, newId, arrivals = () => [0] } = this.#world;
    this.onTake(body);
    const [id, timestamp] = [newId(), now()];
    for (const late of arrivals(body)) {
      this.#arrive(new QueuedMessage(id, timestamp, structuredClone(body)), delaySeconds * 1000 + late);
    }
  }

  /** Messages come once more, and all at the same time: a queue may do so. */
  comeTogether(bodies: readonly unknown[]): void {
    for (const body of bodies) this.#arrive(new QueuedMessage(this.#world.newId(), this.#world.now(), body), 0);
  }

  /** While true, messages wait, and then come together. */
  set isHeld(isHeld: boolean) {
    this.#isHeld = isHeld;
    this.#schedule();
  }

  /** The bodies of the messages that nobody has acknowledged, in the order of their arrival. */
  get left(): unknown[] {
    return [...this.#left].map(({ body }) => body);
  }

  #arrive(message: QueuedMessage, delay: number): void {
    this.#left.add(message);
    this.#world.after(delay, () => {
      this.#ready.push(message);
      this.#schedule();
    });
  }

  /** Messages that have arrived at the same time go into one batch. */
  #schedule(): void {
    if (this.#isHeld || this.#isScheduled || this.#ready.length === 0 || this.#inFlight >= this.#world.concurrency)
      return;
    this.#isScheduled = true;
    this.#world.after(0, () => {
      this.#isScheduled = false;
      void this.#dispatch(this.#ready.splice(0, this.#settings.maxBatchSize));
      this.#schedule();
    });
  }

  async #dispatch(messages: QueuedMessage[]): Promise<void> {
    const { name, maxRetries } = this.#settings;
    this.#inFlight++;
    const batch = new SimulatedBatch(name, messages);
    const isOk = await this.#world.consume(batch);
    this.#inFlight--;
    for (const message of messages) {
      this.#left.delete(message);
      const delay = batch.retryDelayOf(message, isOk);
      if (delay === undefined) continue;
      if (message.attempts > maxRetries) this.#world.dropped?.(message);
      else this.#arrive(message.again(), delay * 1000);
    }
    this.#schedule();
  }
}

const MOST_DELAY_SECONDS = 86_400;
const MOST_BYTES = 128_000;
const MOST_MESSAGES = 100;
const MOST_BATCH_BYTES = 288_000;

interface SendOptions {
  contentType?: string;
  delaySeconds?: number;
}

/**
 * The binding of a producer. test/simulation/conformance runs one list of calls on it and on the real one.
 *
 * Features that src/ does not use are refused: other content types than JSON, metrics(). The metrics of answers are
 * zeros.
 */
export class SimulatedQueue {
  readonly #truth: QueueTruth;
  readonly #carry: Carry;

  constructor(truth: QueueTruth, carry: Carry = carryAtOnce) {
    this.#truth = truth;
    this.#carry = carry;
  }

  async send(body: unknown, options: SendOptions = {}): Promise<object> {
    const text = textOf(body, options);
    const delay = delayOf(options);
    return this.#carry("send", () => {
      checkSizes([text]);
      checkDelay(delay);
      this.#truth.take(JSON.parse(text), delay ?? 0);
      return answer();
    });
  }

  async sendBatch(
    messages: Iterable<SendOptions & { body: unknown }>,
    options: { delaySeconds?: number } = {},
  ): Promise<object> {
    const sent = [...messages].map((each) => ({ text: textOf(each.body, each), delay: delayOf(each) }));
    if (sent.length === 0) throw new TypeError("sendBatch() requires at least one message");
    const delay = delayOf(options);
    return this.#carry("sendBatch", () => {
      checkSizes(sent.map(({ text }) => text));
      checkDelay(delay);
      for (const each of sent) checkDelay(each.delay);
      for (const each of sent) this.#truth.take(JSON.parse(each.text), each.delay ?? delay ?? 0);
      return answer();
    });
  }
}

const answer = () => ({ metadata: { metrics: { backlogCount: 0, backlogBytes: 0 } } });

/** The real error does not name its reason either. */
const refusal = () => new Error("Unknown Internal Error (15000)");

function textOf(body: unknown, { contentType }: SendOptions): string {
  if (contentType !== "json") throw notSimulated(`a message of type ${contentType}`);
  const text = JSON.stringify(body) as string | undefined;
  if (text === undefined) throw notSimulated("a message that JSON does not have");
  return text;
}

/** A delay as it arrives: a whole number of 32 bits. */
function delayOf({ delaySeconds }: { delaySeconds?: number }): number | undefined {
  if (delaySeconds !== undefined && !Number.isInteger(delaySeconds)) throw notSimulated("a delay of parts of a second");
  return delaySeconds;
}

function checkDelay(seconds: number | undefined): void {
  if (seconds !== undefined && (seconds < 0 || seconds > MOST_DELAY_SECONDS)) throw refusal();
}

function checkSizes(texts: string[]): void {
  const sizes = texts.map((text) => Buffer.byteLength(text));
  const all = sizes.reduce((sum, size) => sum + size, 0);
  if (sizes.length > MOST_MESSAGES || Math.max(...sizes) > MOST_BYTES || all > MOST_BATCH_BYTES) throw refusal();
}
