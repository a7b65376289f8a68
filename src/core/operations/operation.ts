import type { SQL } from "drizzle-orm";
import type * as z from "zod/mini";
import type { SignedErrorCode } from "../errors.ts";
import type { Refused, Result } from "../result.ts";
import type { LeftOutAgent, Violation } from "../rules.ts";
import type { BoundStatement, Results } from "../store/batch.ts";
import type { Claim, ClaimRequest, GatedWrite, OutcomeRow, PreviewRow } from "../store/claim.ts";
import type { EventOf } from "../store/outbox.ts";
import type { SESSION_STATUSES } from "../store/schema.ts";
import type { Bindable, Placeholders } from "../store/statement.ts";

/**
 * A signed operation is one file of this folder with two exports: the operation, made by `defineOperation` from a
 * {@link Definition}, and its {@link Documentation}. index.ts lists them. Routes, OpenAPI, `npm run call`, the signature check and
 * the shared test suites use that list.
 */

/** The values that an operation binds, by their names in its SQL. */
export type OperationValues = Record<string, Bindable>;

/**
 * A part of a statement: a condition, an expression or a SELECT. It gets a placeholder for each value of the claim and of the
 * operation.
 */
export type Sql<Own extends OperationValues> = (value: Placeholders<Claim & Own>) => SQL;

/** The codes that an operation's own rules may refuse with. */
export type RefusalCode = Extract<SignedErrorCode, "invalid_parameters" | "session_not_found" | "state_forbids">;

/** A rule that the database checks. The first rule whose condition holds refuses the request. */
export interface RefusalRule<Own extends OperationValues> {
  when: Sql<Own>;
  code: RefusalCode;
  /** SQL for the agents that `violation` names: a JSON array of objects with `id` and `why`. */
  named?: Sql<Own>;
  /** What `x-error-detail` says: the field, and its rule in core/rules.ts. */
  violation: (found: { named: LeftOutAgent[]; leftOut: LeftOutAgent[] }) => Violation;
  /** The refusal as a sentence in the past tense, for the console. It is also the English key in zh.json. */
  past: string;
}

export interface Definition<Fields, Input, Own extends OperationValues> {
  /** The operation's name in the code: `create_session`. It must never change, because it is stored with idempotency keys. */
  name: string;
  /** The operation's name on the wire, the last part of the path: `create_gd`. */
  wireName: string;
  /** The fields that callers send, without `appid`, `timestamp` and `ranstr`. */
  fields: z.ZodMiniType<Fields> & { shape: Record<string, z.ZodMiniType> };
  /** A top-level field whose integers are read as strings of their digits, so that they are exact beyond 2^53. */
  exactField?: string;
  /**
   * Translates the fields into the code's terms. The fingerprint is made from the result's JSON, so sort lists and leave out absent
   * optional fields. Then a new optional field does not change the fingerprints of older requests.
   */
  read: (fields: Fields) => Input;
  /** The values that the statements bind, besides those of the claim. */
  bind: (input: Input) => Own;
  /** The id of the session that an accepted request creates or changes. */
  sessionId: Sql<Own>;
  /**
   * For the signature check: whether a pasted request may be the accepted request of a `nonces` row. The rows that the accepted
   * request wrote decide.
   */
  mayBeItself: Sql<Own>;
  refusals: Record<string, RefusalRule<Own>>;
  /** Requested agents that an accepted request leaves out: rows of `id` and `why`, read before the writes. */
  leftOut?: Sql<Own>;
  /** The writes, in this order. `insertAccepted` and `updateAccepted` make them. */
  writes: ((value: Placeholders<Claim & Own>) => GatedWrite)[];
  /**
   * The event that an accepted call leaves, on sites with events. Its data is read after the writes. With `beforeWrites` it is read
   * before them, for data that the writes would change.
   */
  event: EventOf<Claim & Own> & { beforeWrites?: true };
  /** `data` of the answer to an accepted call. */
  answer: (sessionId: number) => Record<string, unknown> | "";
}

/** The outcome of a batch, for the request that sent it. */
export type Outcome =
  /** The operation was done now. `webhooks` are the ids of the webhooks that get the event. */
  | { kind: "accepted"; sessionId: number; leftOut: LeftOutAgent[]; webhooks: string[] }
  /** The same request was accepted before, under the same Idempotency-Key. */
  | { kind: "repeated"; sessionId: number }
  /** A rule refused the request. Only the nonce was written. */
  | { kind: "refused"; refused: Refused }
  /** Another request had used this ranstr. Nothing was written. */
  | { kind: "replayed" }
  /** The home does not confirm the caller's record of the app, its secret, its site or the site's events. Nothing was written. */
  | { kind: "credentials_stale" }
  /** The site is closed. Nothing was written. */
  | { kind: "site_closed" };

/** The outcome that a request would have now, and the earlier request with the same ranstr. */
export interface Preview {
  outcome: Outcome;
  used: RanstrUse | null;
}

/** The stored outcome of the request that used a ranstr. */
export interface RanstrUse {
  outcome: string;
  sessionId: number | null;
  /** True when that request may be the checked request itself. */
  mayBeItself: boolean;
}

/** A request that passed the rules of its fields. */
export interface OperationInput {
  /** The request in the code's terms. The fingerprint is made from its JSON. */
  input: unknown;
  /** The values that the operation's statements bind. */
  bound: OperationValues;
}

/** The statements of one try, in their order. */
export type TryStatements = {
  claim: BoundStatement;
  leftOut: BoundStatement<LeftOutAgent> | undefined;
  writes: readonly BoundStatement[];
  remember: BoundStatement | undefined;
  deliveries: BoundStatement<{ webhook_id: string }> | undefined;
  outcome: BoundStatement<OutcomeRow>;
};

export type PreviewStatements = {
  decision: BoundStatement<PreviewRow>;
  leftOut: BoundStatement<LeftOutAgent> | undefined;
};

/** A compiled operation. */
export interface Operation {
  name: string;
  wireName: string;
  path: string;
  fields: z.ZodMiniType;
  /** The fields, in the order of the documentation. */
  fieldNames: readonly string[];
  exactField: string | undefined;
  refusals: Record<string, Pick<RefusalRule<OperationValues>, "code" | "violation" | "past">>;
  /** Checks the fields and translates them. A pure step of the signed path. */
  read: (fields: Record<string, unknown>) => Result<OperationInput>;
  /** The type of the event that an accepted call leaves. */
  eventType: string;
  /** Whether an answer may name left-out agents in `x-ignored-agents`. */
  leavesOut: boolean;
  /** One try's batch. {@link outcomeOf} reads its rows. */
  batch: (db: D1Database, request: ClaimRequest, operationInput: OperationInput, attempt: number) => TryStatements;
  outcomeOf: (rows: Pick<Results<TryStatements>, "leftOut" | "deliveries" | "outcome">) => Outcome;
  /** Makes the same decision without writing. {@link previewOf} reads its rows. */
  preview: (db: D1Database, request: ClaimRequest, operationInput: OperationInput) => PreviewStatements;
  previewOf: (rows: Results<PreviewStatements>) => Preview;
  answer: (sessionId: number) => Record<string, unknown> | "";
}

export interface JsonSchema {
  [keyword: string]: unknown;
}

/** The part of an operation that only the documentation uses. Plain data, so the Worker's bundle leaves it out. */
export interface Documentation {
  summary: string;
  description: string;
  /** Merged into the JSON Schema of each field. Every field needs a `description`. A keyword that is undefined here is removed. */
  fields: Record<string, JsonSchema>;
  /**
   * For tests: values just inside and just outside the rule of a field. Required for a field with a pattern. A function, because a bundler
   * would keep values that a call makes, such as `pairs(20)`.
   */
  probes?: () => Record<string, { inside: unknown[]; outside: unknown[] }>;
  /**
   * Named example bodies without `appid`, `timestamp` and `ranstr`. The shared test suites send the first one. `fingerprint` is the
   * example's: deployments store it with Idempotency-Keys, so it never changes.
   */
  examples: Record<string, { summary: string; fields: Record<string, unknown>; fingerprint: string }>;
  /** `data` of the answer to an accepted call. */
  answer: { schema: JsonSchema; example: unknown };
  /**
   * The event for receivers. `properties` is the JSON Schema of its `data`, without `seq` and `appid`, which every event of an
   * operation has.
   */
  event: {
    summary: string;
    description: string;
    properties: Record<string, JsonSchema>;
    example: Record<string, unknown>;
  };
  /**
   * For an operation on a session: what it comes to in each status of the session, `accepted` or the name of a refusal. So a new status
   * asks each operation.
   */
  statuses?: Record<(typeof SESSION_STATUSES)[number], string>;
  /** For callers: the cause of each refusal of this operation, and its cure. */
  refusals: Record<string, { cause: string; cure: string }>;
}
