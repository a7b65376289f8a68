/** A message in a queue. */
export class QueuedMessage {
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly timestamp: number;
  readonly body: unknown;
  /** How often it was delivered to a consumer, this time included. */
  readonly attempts: number;

  constructor(id: string, timestamp: number, body: unknown, attempts = 1) {
    this.id = id;
    this.timestamp = timestamp;
    this.body = body;
    this.attempts = attempts;
  }

  again(): QueuedMessage {
    return new QueuedMessage(this.id, this.timestamp, this.body, this.attempts + 1);
  }
}

interface RetryOptions {
  delaySeconds?: number;
}

/** The consumer's decision about a message; undefined before it decides. */
type Said = "acked" | RetryOptions;

/** A message as the consumer sees it. Only the first decision counts. */
class SimulatedMessage {
  readonly id: string;
  readonly timestamp: Date;
  readonly body: unknown;
  readonly attempts: number;
  readonly #say: (said: Said) => void;

  constructor({ id, timestamp, body, attempts }: QueuedMessage, say: (said: Said) => void) {
    this.id = id;
    this.timestamp = new Date(timestamp);
    this.body = body;
    this.attempts = attempts;
    this.#say = say;
  }

  ack(): void {
    this.#say("acked");
  }

  retry(options: RetryOptions = {}): void {
    this.#say(options);
  }
}

/** The messages of one run of a consumer. Decisions after the handler has returned have no effect. */
export class SimulatedBatch {
  readonly queue: string;
  readonly messages: readonly SimulatedMessage[];
  readonly metadata = { metrics: { backlogCount: 0, backlogBytes: 0 } };
  readonly #said = new Map<string, Said>();
  #saidOfAll: Said | undefined;

  constructor(queue: string, messages: readonly QueuedMessage[]) {
    this.queue = queue;
    this.messages = messages.map(
      (message) =>
        new SimulatedMessage(message, (said) => {
          if (this.#saidOfAll === undefined && !this.#said.has(message.id)) this.#said.set(message.id, said);
        }),
    );
  }

  ackAll(): void {
    this.#saidOfAll ??= "acked";
  }

  retryAll(options: RetryOptions = {}): void {
    this.#saidOfAll ??= options;
  }

  /**
   * After retryAll() or a failure the whole batch comes again, including acknowledged messages.
   *
   * @param isOk whether the handler has returned
   * @returns the seconds after which the message comes again; undefined when it does not
   */
  retryDelayOf({ id }: QueuedMessage, isOk: boolean): number | undefined {
    const said = this.#said.get(id);
    const own = said === "acked" ? undefined : said?.delaySeconds;
    const ofAll = this.#saidOfAll === "acked" ? undefined : this.#saidOfAll;
    if (!isOk || ofAll !== undefined) return own ?? ofAll?.delaySeconds ?? 0;
    return said === undefined || said === "acked" ? undefined : (own ?? 0);
  }
}
