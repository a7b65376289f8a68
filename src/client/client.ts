import { AgentSessionError } from "./agent-session-error.ts";
import { OWN_NAMES, type OwnNames } from "./field-names.ts";
import { OPERATIONS, type OperationName } from "./operations.ts";
import type { Fetch, Signal } from "./platform.ts";
import { clockOf, readAnswer, refusalOf, type WireAnswer } from "./read-answer.ts";
import { prepareAt } from "./sign.ts";
import { pause, TryTimedOut, withinLimit } from "./within-limit.ts";

export { AgentSessionError, type AgentSessionErrorCode } from "./agent-session-error.ts";
export type { Ping, SessionAgentsAdded, SessionCreated, UnknownEvent, WebhookEvent } from "./event.ts";
export { EventVerificationError, type EventVerificationErrorCode } from "./event-verification-error.ts";
export type { OperationName } from "./operations.ts";
export type { AnswerBody, AnswerHeaders, Fetch, FetchedAnswer, FetchInit, Signal, SignalShape } from "./platform.ts";
export type { WireAnswer } from "./read-answer.ts";
export { prepare, sign } from "./sign.ts";
export { type EventHeaders, type VerifyEventOptions, verifyEvent } from "./verify-event.ts";

export interface ClientOptions {
  /** Where the service is, "https://sessions.example.com". A path in it is kept. */
  baseUrl: string;
  appid: string;
  /** Belongs on a server: never ship it to a browser or a phone. */
  secret: string;
  /** Default: the platform's. */
  fetch?: Fetch | undefined;
  /** Milliseconds one try may take, its answer read whole. Default 10,000. */
  timeoutMs?: number | undefined;
  /** The first try counts. Default 4. */
  maxTries?: number | undefined;
}

export interface CallOptions {
  /**
   * 1 to 255 visible ASCII characters; calls with one key are done once (24 h). Default: a random key, the same for all tries of the
   * call. Without one (`false`) only a 429 is tried again, because anything else may have been done.
   */
  idempotencyKey?: string | false | undefined;
  /** Ends the call at once, pauses too; it rejects with the signal's reason. */
  signal?: Signal | undefined;
}

export interface NewSession {
  /** Created or refreshed. A number and a string of the same digits are one customer; beyond 2^53 give a bigint or a string. */
  customer: { id: string | number | bigint; name: string; ip: string };
  /** The first message, 1 to 2000 characters. */
  content: string;
  /** The remark title on both sides, 1 to 120 characters. */
  title?: string | undefined;
  /** 1 to 100, the responsible one among them. */
  agentIds: readonly number[];
  responsibleAgentId: number;
  /** Who the first message is from. Default: the responsible agent. */
  sender?: "customer" | "responsible_agent" | "system" | undefined;
  /** Your own pairs of name and value, stored with the session: up to 20, names of 1 to 40 characters of A-Za-z0-9_.-, values of up to 500. */
  metadata?: Readonly<Record<string, string>> | undefined;
}

export interface CallResult {
  /** The call had been done before under this key: this is its first answer again. */
  replayed: boolean;
  /** `x-request-id`, to quote to the operator. */
  requestId: string | undefined;
}

/** An agent who was asked for and did not join. */
export interface IgnoredAgent {
  agentId: number;
  /** `unknown`, `disabled` or `already on the session`. */
  reason: string;
}

const SENDER_TYPES = { customer: 1, responsible_agent: 2, system: 3 } as const;

/** Milliseconds: the first pause is at most this long, each further one up to twice as long as the one before. */
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 8_000;

/** Seconds. When the service asks for a longer wait, the call fails instead: the caller decides better what to do meanwhile. */
const LONGEST_RETRY_AFTER = 60;

/** Calls the service: signs each try freshly, retries what is safe to retry, and keeps a retried call single. */
export class AgentSessionClient {
  readonly #baseUrl: string;
  readonly #app: { appid: string; secret: string };
  readonly #fetch: Fetch;
  readonly #timeoutMs: number;
  readonly #maxTries: number;
  /** Seconds that the service's clock is ahead of this machine's; known after a refused timestamp. */
  #clockOffset = 0;

  /** @throws TypeError naming the option that cannot be used */
  constructor(options: ClientOptions) {
    this.#baseUrl = usableUrl(options.baseUrl);
    this.#app = { appid: filled("appid", options.appid), secret: filled("secret", options.secret) };
    this.#fetch = options.fetch ?? globalThis.fetch;
    this.#timeoutMs = wholeNumber("timeoutMs", options.timeoutMs ?? 10_000, 2 ** 31 - 1);
    this.#maxTries = wholeNumber("maxTries", options.maxTries ?? 4, 100);
  }

  /**
   * Opens a ticket session with its first message.
   *
   * @throws AgentSessionError when the last try failed, TypeError for input that JSON cannot carry exactly
   */
  async createSession(session: NewSession, options: CallOptions = {}): Promise<CallResult & { chatId: number }> {
    const { customer } = session;
    if (typeof customer !== "object" || customer === null) throw new TypeError("customer: must be an object");
    const fields = {
      sbs: customer.id,
      sbs_mc: customer.name,
      ip: customer.ip,
      content: session.content,
      title: session.title,
      kefu_id: session.agentIds,
      fzr_uid: session.responsibleAgentId,
      sender_type: session.sender === undefined ? undefined : senderType(session.sender),
      metadata: session.metadata,
    };
    const answer = await this.#call("create_gd", fields, options);
    const { chat_id } = (answer.envelope.data ?? {}) as { chat_id?: unknown };
    if (typeof chat_id !== "number" || !Number.isSafeInteger(chat_id)) {
      const { status, requestId } = answer;
      throw new AgentSessionError("unexpected", "a success without the session's id", { status, requestId });
    }
    return { chatId: chat_id, ...resultOf(answer) };
  }

  /**
   * Adds agents to a ticket session. Those already on it, unknown or disabled are ignored and told in `ignored` (nobody in an
   * answer that is `replayed`); with nobody left to add it fails as `state_forbids`.
   *
   * @throws as {@link createSession}
   */
  async addAgents(
    request: { chatId: number; agentIds: readonly number[] },
    options: CallOptions = {},
  ): Promise<CallResult & { ignored: IgnoredAgent[] }> {
    if (!Array.isArray(request.agentIds)) throw new TypeError("agentIds: must be an array");
    const unsafe = request.agentIds.find((id) => !Number.isSafeInteger(id));
    if (unsafe !== undefined) throw new TypeError(`agentIds: ${unsafe} is not an integer that a number holds exactly`);
    const fields = { chat_id: request.chatId, kefu_ids: request.agentIds.join(",") };
    const answer = await this.#call("add_kf", fields, options);
    return { ignored: ignoredAgentsOf(answer), ...resultOf(answer) };
  }

  /**
   * One signed try of an operation with any fields in wire names: the tool for finding out why calls are refused. `appid`, `timestamp`
   * and `ranstr` are filled in unless given. Never retries; sends an Idempotency-Key only when given one.
   *
   * @throws AgentSessionError when no envelope came back, TypeError for an operation that this client does not know; a refusal is a
   *   return value
   */
  async send(
    operation: OperationName,
    fields: Record<string, unknown>,
    options: CallOptions = {},
  ): Promise<WireAnswer> {
    return this.#try(operation, fields, {}, usableKey(options.idempotencyKey ?? false), options.signal);
  }

  async #call(
    operation: keyof typeof OWN_NAMES,
    fields: Record<string, unknown>,
    options: CallOptions,
  ): Promise<WireAnswer> {
    const key = usableKey(options.idempotencyKey ?? crypto.randomUUID());
    const names = OWN_NAMES[operation];
    let clockCorrected = false;
    for (let tries = 1; ; tries++) {
      const outcome = await this.#try(operation, fields, names, key, options.signal).catch((error: unknown) => {
        if (error instanceof AgentSessionError) return error;
        throw error;
      });
      if (!(outcome instanceof AgentSessionError) && outcome.envelope.code === 1) return outcome;
      const failure = outcome instanceof AgentSessionError ? outcome : refusalOf(outcome, names);
      const clock = outcome instanceof AgentSessionError ? undefined : clockOf(outcome);
      if (clock !== undefined) this.#clockOffset = clock - machineClock();
      if (tries >= this.#maxTries) throw failure;
      // A refused timestamp did nothing, so a retry is safe without a key. Once per call: after a second one, the clock is not the cause.
      if (clock !== undefined && !clockCorrected) {
        clockCorrected = true;
        continue;
      }
      if (!mayRetry(failure, key !== undefined)) throw failure;
      await pause(pauseBefore(tries, failure.retryAfter), options.signal);
    }
  }

  /** Each try has a new timestamp, ranstr and signature, so that the service does not take it for a replay. */
  async #try(
    operation: OperationName,
    fields: Record<string, unknown>,
    names: OwnNames,
    key: string | undefined,
    signal: Signal | undefined,
  ): Promise<WireAnswer> {
    if (!Object.hasOwn(OPERATIONS, operation)) {
      throw new TypeError(`operation: must be one of ${Object.keys(OPERATIONS).join(", ")}`);
    }
    const { body, signature } = await prepareAt(machineClock() + this.#clockOffset, this.#app, fields, names);
    signal?.throwIfAborted();
    const headers = {
      accept: "application/json",
      "content-type": "application/json",
      "x-chat-signature": signature,
      ...(key !== undefined && { "idempotency-key": key }),
    };
    const url = `${this.#baseUrl}${OPERATIONS[operation].path}`;
    // Not called as a method: platforms refuse a fetch whose `this` is another object.
    const fetch = this.#fetch;
    try {
      return await withinLimit(this.#timeoutMs, signal, async (limit) => {
        // A followed redirect would turn the POST into a GET or carry the signed body elsewhere.
        return readAnswer(await fetch(url, { method: "POST", headers, body, redirect: "manual", signal: limit }));
      });
    } catch (error) {
      if (signal?.aborted === true) throw signal.reason;
      if (error instanceof AgentSessionError) throw error;
      if (error instanceof TryTimedOut) throw new AgentSessionError("timeout", error.message, { cause: error });
      throw new AgentSessionError("network", `no answer from ${this.#baseUrl}: ${describe(error)}`, { cause: error });
    }
  }
}

/** Unix seconds. */
const machineClock = () => Math.floor(Date.now() / 1000);

/** After a 429 nothing was done. After the other failures the call may have been done, so only a key makes a retry safe. */
function mayRetry(failure: AgentSessionError, keyed: boolean): boolean {
  if ((failure.retryAfter ?? 0) > LONGEST_RETRY_AFTER) return false;
  if (failure.code === "too_many_requests") return true;
  return keyed && (failure.code === "unavailable" || failure.code === "network" || failure.code === "timeout");
}

/** Milliseconds, never less than the service asked for. Half is random, so that callers who failed together retry at different times. */
function pauseBefore(tries: number, retryAfter: number | undefined): number {
  const longest = Math.min(FIRST_PAUSE_MS * 2 ** (tries - 1), LONGEST_PAUSE_MS);
  return (retryAfter ?? 0) * 1000 + longest * (0.5 + Math.random() / 2);
}

/** Reads `777 unknown, 10411 already on the session`. */
function ignoredAgentsOf({ headers }: WireAnswer): IgnoredAgent[] {
  const named = (headers.get("x-ignored-agents") ?? "").matchAll(/(?:^|, )(\d+) ([^,]+)/g);
  return Array.from(named, ([, id, reason = ""]) => ({ agentId: Number(id), reason }));
}

function resultOf({ headers, requestId }: WireAnswer): CallResult {
  return { replayed: headers.get("idempotency-replayed") === "true", requestId };
}

function senderType(sender: keyof typeof SENDER_TYPES): number {
  // Without this check an unknown sender would be left out, and the responsible agent would become the sender.
  if (!Object.hasOwn(SENDER_TYPES, sender)) throw new TypeError(`sender: "${sender}" is not a sender`);
  return SENDER_TYPES[sender];
}

function usableKey(key: string | false): string | undefined {
  if (key === false) return undefined;
  if (typeof key === "string" && /^[\x21-\x7e]{1,255}$/.test(key)) return key;
  throw new TypeError("idempotencyKey: must be 1 to 255 visible ASCII characters, or false");
}

function usableUrl(baseUrl: string): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  const usable = url !== undefined && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
  if (!usable || /[?#]/.test(baseUrl)) {
    throw new TypeError("baseUrl: must be an http or https URL without user, query and fragment");
  }
  return url.href.replace(/\/+$/, "");
}

function filled(name: string, value: string): string {
  if (typeof value !== "string" || value === "") throw new TypeError(`${name}: must be a string that is not empty`);
  return value;
}

function wholeNumber(name: string, value: number, most: number): number {
  if (!Number.isInteger(value) || value < 1 || value > most) {
    throw new TypeError(`${name}: must be a whole number from 1 to ${most}`);
  }
  return value;
}

/** The text of an error with its cause: fetch itself only says "fetch failed". */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause as { message?: string; code?: string } | undefined;
  const why = cause?.message || cause?.code;
  return why === undefined ? error.message : `${error.message}: ${why}`;
}
