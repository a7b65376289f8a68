import { AgentSessionError } from "./agent-session-error.ts";
import { type ApiPromise, apiPromise, type WithResponse } from "./api-promise.ts";
import { type AddedAgents, addFields, createFields, type NewSession } from "./arguments.ts";
import { OWN_NAMES, type OwnNames } from "./field-names.ts";
import { OPERATION_NAMES, type OperationName, pathOf } from "./operations.ts";
import {
  type CallOptions,
  type ClientOptions,
  type Limits,
  limitsOfCall,
  requireFilled,
  type SendOptions,
  usableKey,
  usableLimits,
  usableSignal,
  usableUrl,
} from "./options.ts";
import type { Fetch, FetchedAnswer, SignalShape } from "./platform.ts";
import { errorOfRefusal, readAnswer, unexpectedAnswer, type WireAnswer } from "./read-answer.ts";
import { retryAfterOf } from "./retry-after.ts";
import { machineClock, ServiceClock } from "./service-clock.ts";
import { prepareAt } from "./sign.ts";
import { backOff, TryTimedOut, throwIfAborted, withinLimit } from "./within-limit.ts";

export { AgentSessionError, type AgentSessionErrorCode, type AgentSessionErrorContext } from "./agent-session-error.ts";
export type { ApiPromise, WithResponse } from "./api-promise.ts";
export type { AddedAgents, NewSession } from "./arguments.ts";
export type * from "./event.ts";
export { EventVerificationError, type EventVerificationErrorCode } from "./event-verification-error.ts";
export type { OperationName } from "./operations.ts";
export type { CallOptions, ClientOptions, SendOptions } from "./options.ts";
export type { AnswerBody, AnswerHeaders, Fetch, FetchedAnswer, FetchInit, Signal, SignalShape } from "./platform.ts";
export type { WireAnswer } from "./read-answer.ts";
export { prepare, sign } from "./sign.ts";
export { type EventHeaders, type VerifyEventOptions, verifyEvent } from "./verify-event.ts";

export interface CallResult {
  /** Whether an earlier call with this key was done. If so, this is the answer of that call. */
  replayed: boolean;
  /** `x-request-id`, to quote to the operator. */
  requestId: string | undefined;
}

export interface CreateSessionResult extends CallResult {
  chatId: number;
}

export interface AddAgentsResult extends CallResult {
  /** All agents who did not join; empty in an answer that is `replayed`. */
  ignored: IgnoredAgent[];
}

/** A requested agent who did not join. */
export interface IgnoredAgent {
  agentId: number;
  /** The service's words. The second type is for words of a newer service. */
  reason: "unknown" | "disabled" | "already on the session" | (string & {});
}

/** The longest first backoff in milliseconds. The limit doubles with each try. */
const FIRST_BACKOFF_MS = 250;
const LONGEST_BACKOFF_MS = 8_000;

/** Seconds. When the service asks for a longer wait, the call fails, so that its caller can decide what to do. */
const LONGEST_RETRY_AFTER = 60;

/** A prepared call: the fields to send, and the caller's options. */
interface Attempt {
  operation: OperationName;
  fields: Record<string, unknown>;
  /** This client's names for the fields, for the texts of errors. */
  names: OwnNames;
  key: string | undefined;
  signal: SignalShape | undefined;
  limits: Limits;
}

/** Calls the service. It signs each try anew and retries when a retry is safe. With a key, a retried call is done only once. */
export class AgentSessionClient {
  readonly #baseUrl: string;
  readonly #app: { appid: string; secret: string };
  readonly #fetch: Fetch;
  readonly #limits: Limits;
  readonly #clock = new ServiceClock();

  /** @throws TypeError naming the wrong option */
  constructor(options: ClientOptions) {
    this.#baseUrl = usableUrl(options.baseUrl);
    this.#app = { appid: requireFilled("appid", options.appid), secret: requireFilled("secret", options.secret) };
    this.#fetch = options.fetch ?? globalThis.fetch;
    this.#limits = usableLimits(options, { timeoutMs: 10_000, maxTries: 4 });
  }

  /**
   * Opens a ticket session with its first message.
   *
   * @throws AgentSessionError when the last try failed; TypeError, before anything is sent, for a wrong option or for input that JSON
   *   cannot carry exactly
   */
  createSession(session: NewSession, options: CallOptions = {}): ApiPromise<CreateSessionResult> {
    return apiPromise(this.#createSession(session, options));
  }

  async #createSession(session: NewSession, options: CallOptions): Promise<WithResponse<CreateSessionResult>> {
    const response = await this.#call("create_gd", createFields(session), options);
    const { chat_id } = (response.envelope.data ?? {}) as { chat_id?: unknown };
    if (typeof chat_id !== "number" || !Number.isSafeInteger(chat_id)) {
      const message = unexpectedAnswer(this.#called("create_gd"), "a success without the session's id");
      const { status, requestId } = response;
      throw new AgentSessionError("unexpected", message, { status, requestId });
    }
    return { data: { chatId: chat_id, ...resultOf(response) }, response };
  }

  /**
   * Adds agents to a ticket session. `ignored` lists agents who are unknown, disabled or already on the session; it is empty when the
   * answer is `replayed`. When no agent is left to add, the call fails with `state_forbids`.
   *
   * @throws as {@link createSession}
   */
  addAgents(request: AddedAgents, options: CallOptions = {}): ApiPromise<AddAgentsResult> {
    return apiPromise(this.#addAgents(request, options));
  }

  async #addAgents(request: AddedAgents, options: CallOptions): Promise<WithResponse<AddAgentsResult>> {
    const response = await this.#call("add_kf", addFields(request), options);
    return { data: { ignored: ignoredAgentsOf(response), ...resultOf(response) }, response };
  }

  /**
   * Makes one signed try of an operation, with any fields in wire names. This helps to find out why calls are refused. `appid`,
   * `timestamp` and `ranstr` are added when they are missing. It never retries, and sends an Idempotency-Key only when one is given.
   *
   * @returns the answer, also when it is a refusal
   * @throws AgentSessionError when no envelope came back; TypeError for an operation that this client does not know
   */
  async send(
    operation: OperationName,
    fields: Record<string, unknown>,
    options: SendOptions = {},
  ): Promise<WireAnswer> {
    const key = usableKey(options.idempotencyKey ?? false);
    const signal = usableSignal(options.signal);
    const limits = limitsOfCall({ timeoutMs: options.timeoutMs }, this.#limits);
    const { offset } = this.#clock;
    const answer = await this.#try({ operation, fields, names: {}, key, signal, limits }, offset);
    if (!Object.hasOwn(fields, "timestamp")) this.#clock.doubt(answer, offset);
    return answer;
  }

  async #call(
    operation: keyof typeof OWN_NAMES,
    fields: Record<string, unknown>,
    options: CallOptions,
  ): Promise<WireAnswer> {
    const key = usableKey(options.idempotencyKey ?? crypto.randomUUID());
    const names = OWN_NAMES[operation];
    const signal = usableSignal(options.signal);
    const limits = limitsOfCall(options, this.#limits);
    let learned: number | undefined;
    for (let tries = 1; ; tries++) {
      const { offset } = this.#clock;
      const attempt = { operation, fields, names, key, signal, limits };
      const outcome = await this.#try(attempt, offset).catch((error: unknown) => {
        if (error instanceof AgentSessionError) return error;
        throw error;
      });
      const answer = outcome instanceof AgentSessionError ? undefined : outcome;
      if (answer?.envelope.code === 1) return answer;
      const failure =
        outcome instanceof AgentSessionError ? outcome : errorOfRefusal(outcome, names, this.#called(operation));
      // A call with a refused timestamp was not done, so one retry with the service's time needs no key. A second refusal is final.
      const corrects = answer !== undefined && offset !== learned && this.#clock.take(answer);
      if (answer !== undefined && !corrects) this.#clock.doubt(answer, offset);
      const { retryAfter = 0 } = failure;
      if (tries >= limits.maxTries || retryAfter > LONGEST_RETRY_AFTER) throw failure;
      if (corrects) learned = this.#clock.offset;
      else if (!mayRetry(failure, key !== undefined)) throw failure;
      if (!corrects || retryAfter > 0) await backOff(backoffBefore(tries, retryAfter), signal);
    }
  }

  /** Each try has a new timestamp, ranstr and signature, because the service would refuse the same ones as a replay. */
  async #try({ operation, fields, names, key, signal, limits }: Attempt, clockOffset: number): Promise<WireAnswer> {
    if (!OPERATION_NAMES.includes(operation)) {
      throw new TypeError(`operation: must be one of ${OPERATION_NAMES.join(", ")}`);
    }
    const { body, signature } = await prepareAt(machineClock() + clockOffset, this.#app, fields, names);
    throwIfAborted(signal);
    const headers = {
      accept: "application/json",
      "content-type": "application/json",
      "x-chat-signature": signature,
      ...(key !== undefined && { "idempotency-key": key }),
    };
    // `this.#fetch(…)` would call fetch with this client as `this`, which platforms refuse.
    const fetch = this.#fetch;
    const url = this.#urlOf(operation);
    const called = this.#called(operation);
    let answer: FetchedAnswer | undefined;
    try {
      return await withinLimit(limits.timeoutMs, signal, async (limit) => {
        // Redirects are not followed, because the POST could become a GET, or the signed body could go to another server.
        answer = await fetch(url, { method: "POST", headers, body, redirect: "manual", signal: limit });
        return readAnswer(answer, called);
      });
    } catch (error) {
      throwIfAborted(signal);
      if (error instanceof AgentSessionError) throw error;
      const isLate = error instanceof TryTimedOut;
      const why = isLate ? ` in ${limits.timeoutMs} ms` : `: ${describe(error)}`;
      const message = `no answer from ${called}${why}`;
      // The headers of the answer may have arrived, with a Retry-After.
      const retryAfter = answer && retryAfterOf(answer.headers);
      throw new AgentSessionError(isLate ? "timeout" : "network", message, { cause: error, retryAfter });
    }
  }

  #urlOf(operation: OperationName): string {
    return `${this.#baseUrl}${pathOf(operation)}`;
  }

  /** The address that was called, for messages. It has no user and no query, so it holds nothing secret. */
  #called(operation: OperationName): string {
    return `POST ${this.#urlOf(operation)}`;
  }
}

/** Whether a retry is safe. After a 429 nothing was done. After any other failure the call may have been done, so a retry needs a key. */
function mayRetry(failure: AgentSessionError, keyed: boolean): boolean {
  if (failure.code === "too_many_requests") return true;
  return keyed && (failure.code === "unavailable" || failure.code === "network" || failure.code === "timeout");
}

/** Milliseconds, never less than the service asks for. Half is random, so that callers that failed together do not retry together. */
function backoffBefore(tries: number, retryAfter: number): number {
  const longest = Math.min(FIRST_BACKOFF_MS * 2 ** (tries - 1), LONGEST_BACKOFF_MS);
  return retryAfter * 1000 + longest * (0.5 + Math.random() / 2);
}

/** Reads both forms: `777 unknown, 10430 disabled`, and the form for many agents, `unknown: 777 778, disabled: 10430`. */
function ignoredAgentsOf({ headers }: WireAnswer): IgnoredAgent[] {
  return (headers.get("x-ignored-agents") ?? "").split(", ").flatMap((part) => {
    const [, reason = "", ids] = /^(.+): ([\d ]+)$/.exec(part.replace(/^(\d+) (.+)$/, "$2: $1")) ?? [];
    return ids === undefined ? [] : ids.split(" ").map((each) => ({ agentId: Number(each), reason }));
  });
}

function resultOf({ headers, requestId }: WireAnswer): CallResult {
  return { replayed: headers.get("idempotency-replayed") === "true", requestId };
}

/** The text of an error with its cause: fetch's own text is only "fetch failed". */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause as { message?: string; code?: string } | undefined;
  const why = cause?.message || cause?.code;
  return why === undefined ? error.message : `${error.message}: ${why}`;
}
