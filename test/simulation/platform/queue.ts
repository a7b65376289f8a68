import { refuseIf, refuseOtherProperties, refuseOthers } from "../not-simulated.ts";
import { type CarryCall, carryAtOnce } from "./d1.ts";

interface QueuedMessage {
  id: string;
  body: unknown;
  /** How often it was delivered to a consumer, this time included. */
  attempts: number;
}

/** A consumer's settings in wrangler.toml. There is no batch timeout: a batch does not wait for more messages. */
interface ConsumerSettings {
  name: string;
  maxBatchSize: number;
  /** How often a message may come again before it is dropped. */
  maxRetries: number;
}

/** The functions of the world that a queue needs. */
interface QueueWorld {
  after(milliseconds: number, run: () => void): unknown;
  newId(): string;
  /** Runs the consumer. @returns whether its handler returned; false when it threw or died */
  consume(batch: SimulatedBatch): Promise<boolean>;
  /** The most batches that are consumed at the same time. */
  concurrency: number;
  /** Milliseconds until each copy of a message arrives; one number for each copy, none for a lost message. */
  arrivals?: (body: unknown) => number[];
  dropped?: (message: QueuedMessage) => void;
}

/** A queue with its one consumer: at-least-once delivery, in no guaranteed order. */
export class QueueTruth {
  /** Called with each message that a binding has sent. */
  onTake: (body: unknown) => void = () => {};
  readonly #settings: ConsumerSettings;
  readonly #world: QueueWorld;
  #ready: QueuedMessage[] = [];
  readonly #messagesLeft = new Set<QueuedMessage>();
  #inFlight = 0;
  #isScheduled = false;
  #isHeld = false;

  constructor(settings: ConsumerSettings, world: QueueWorld) {
    this.#settings = settings;
    this.#world = world;
  }

  take(body: unknown, delaySeconds: number): void {
    const { newId, arrivals = () => [0] } = this.#world;
    this.onTake(body);
    const id = newId();
    for (const late of arrivals(body)) {
      this.#arrive({ id, body: structuredClone(body), attempts: 1 }, delaySeconds * 1000 + late);
    }
  }

  /** Delivers messages again, all at the same time, as a queue may do. */
  comeTogether(bodies: readonly unknown[]): void {
    for (const body of bodies) this.#arrive({ id: this.#world.newId(), body, attempts: 1 }, 0);
  }

  /** While true, messages wait. When it becomes false, they arrive together. */
  set isHeld(isHeld: boolean) {
    this.#isHeld = isHeld;
    this.#schedule();
  }

  /** The bodies of the messages that nobody has acknowledged, in the order of their arrival. */
  get bodiesLeft(): unknown[] {
    return [...this.#messagesLeft].map(({ body }) => body);
  }

  #arrive(message: QueuedMessage, delay: number): void {
    this.#messagesLeft.add(message);
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
      this.#messagesLeft.delete(message);
      const delay = batch.retryDelayOf(message, isOk);
      if (delay === undefined) continue;
      if (message.attempts > maxRetries) this.#world.dropped?.(message);
      else this.#arrive({ ...message, attempts: message.attempts + 1 }, delay * 1000);
    }
    this.#schedule();
  }
}

/** A message as the consumer sees it. */
interface SimulatedMessage extends Pick<QueuedMessage, "body" | "attempts"> {
  retry(options?: { delaySeconds?: number }): void;
}

/** The messages of one run of a consumer. A call of retry() after the handler has returned has no effect. */
export class SimulatedBatch {
  readonly queue: string;
  readonly messages: readonly SimulatedMessage[];
  /** Seconds after which messages come again, by their ids. Only the first retry() of a message counts. */
  readonly #redeliveries = new Map<string, number>();

  constructor(queue: string, messages: readonly QueuedMessage[]) {
    this.queue = queue;
    this.messages = messages.map(({ id, body, attempts }) => {
      const retry = ({ delaySeconds = 0 } = {}) => {
        if (!this.#redeliveries.has(id)) this.#redeliveries.set(id, delaySeconds);
      };
      return refuseOtherProperties("a message", { body, attempts, retry });
    });
  }

  /**
   * Decides when a message comes again. After a failure of the handler the whole batch comes again.
   *
   * @param isOk whether the handler has returned
   * @returns the seconds after which the message comes again; undefined when it does not
   */
  retryDelayOf({ id }: QueuedMessage, isOk: boolean): number | undefined {
    return this.#redeliveries.get(id) ?? (isOk ? undefined : 0);
  }
}

const MOST_DELAY_SECONDS = 86_400;
const MOST_BYTES = 128_000;
const MOST_MESSAGES = 100;
const MOST_BATCH_BYTES = 288_000;

interface SentMessage {
  body: unknown;
  contentType?: string;
  delaySeconds?: number;
}

/**
 * The binding of a producer. It refuses what src/ does not use, and leaves the metrics of an answer out.
 * test/simulation/conformance runs one list of calls on it and on workerd's queue.
 */
export class SimulatedQueue {
  readonly #truth: QueueTruth;
  readonly #carry: CarryCall;

  constructor(truth: QueueTruth, carry: CarryCall = carryAtOnce) {
    this.#truth = truth;
    this.#carry = carry;
  }

  async send(body: unknown, { contentType = "", ...others }: { contentType?: string } = {}): Promise<void> {
    refuseOthers("send()", others);
    return this.#send("send", [{ body, contentType }]);
  }

  async sendBatch(messages: readonly SentMessage[], others: object = {}): Promise<void> {
    refuseOthers("sendBatch()", others);
    return this.#send("sendBatch", messages);
  }

  #send(call: string, messages: readonly SentMessage[]): Promise<void> {
    const items = messages.map(({ body, contentType, delaySeconds = 0, ...others }) => {
      refuseOthers("a message", others);
      refuseIf(contentType !== "json" || body === undefined, `a message of type ${contentType}`);
      const isDelay = Number.isInteger(delaySeconds) && delaySeconds >= 0 && delaySeconds <= MOST_DELAY_SECONDS;
      refuseIf(!isDelay, `a delay of ${delaySeconds} s`);
      return { text: JSON.stringify(body), delaySeconds };
    });
    const sizes = items.map(({ text }) => Buffer.byteLength(text));
    const all = sizes.reduce((sum, size) => sum + size, 0);
    refuseIf(items.length === 0 || items.length > MOST_MESSAGES, `${items.length} messages`);
    refuseIf(Math.max(...sizes) > MOST_BYTES || all > MOST_BATCH_BYTES, `messages of ${all} bytes`);
    return this.#carry(call, () => {
      for (const { text, delaySeconds } of items) this.#truth.take(JSON.parse(text), delaySeconds);
    });
  }
}
