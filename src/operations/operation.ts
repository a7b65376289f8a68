import type { SQL } from "drizzle-orm";
import type * as z from "zod/mini";
import type { SignedErrorCode } from "../errors.ts";
import type { Refused, Result } from "../result.ts";
import type { Claim, ClaimRequest, GatedWrite } from "../store/home/claim.ts";
import type { EventOf } from "../store/home/outbox.ts";
import type { Bindable, Placeholders } from "../store/statement.ts";

/**
 * A signed operation is one file of this folder with two exports: the operation, made by `defineOperation` of a {@link Definition},
 * and its {@link Documentation}. index.ts lists them: routes, OpenAPI, `npm run call`, the signature check and the shared test suites
 * all go through that list.
 */

/** Values that an operation binds, by their names in its SQL. */
export type Row = Record<string, Bindable>;

/** A piece of SQL: a condition, an expression or a SELECT, with a placeholder for each value of the claim and of the operation. */
export type Sql<Own extends Row> = (value: Placeholders<Claim & Own>) => SQL;

/** How an operation may refuse by its own rules. */
export type RefusalCode = Extract<SignedErrorCode, "invalid_parameters" | "session_not_found" | "state_forbids">;

/** An agent whom the request names and who is left out, or for whom it is refused. */
export interface LeftOutAgent {
  id: number;
  why: "already on the session" | "unknown" | "disabled";
}

/** A rule that the database checks. The first rule whose condition holds refuses the request. */
export interface RefusalRule<Own extends Row> {
  /** The condition. */
  when: Sql<Own>;
  /** How it is answered. */
  code: RefusalCode;
  /** The agents that `detail` names: a JSON array of objects with `id` and `why`. */
  named?: Sql<Own>;
  /** For `x-error-detail`: the field and its rule, English ASCII. */
  detail: (found: { named: LeftOutAgent[]; leftOut: LeftOutAgent[] }) => string;
  /** The same as a sentence in the past tense, for the console. An English key of zh.json. */
  past: string;
}

export interface Definition<Fields, Input, Own extends Row> {
  /** The name used in the code, `create_session`. Stored with idempotency keys, so it must never change. */
  name: string;
  /** The name on the wire, the last part of the path: `create_gd`. */
  wireName: string;
  /** The fields as callers send them, without `appid`, `timestamp` and `ranstr`. */
  fields: z.ZodMiniType<Fields> & { shape: Record<string, z.ZodMiniType> };
  /** A top-level field whose integers are read as strings of their digits, exact beyond 2^53. */
  digitsOf?: string;
  /**
   * Translates the fields into the terms of the code. The fingerprint is made of the result's JSON. So sort lists, and leave out an
   * optional field that is absent: then a field that is added later changes no older fingerprint.
   */
  read: (fields: Fields) => Input;
  /** The values that the statements bind, in addition to those of the claim. */
  bind: (input: Input) => Own;
  /** The session that an accepted request is about. */
  sessionId: Sql<Own>;
  /** For the signature check: whether the accepted request of a `nonces` row may have been this one, by what it left. */
  mayBeItself: Sql<Own>;
  refusals: Record<string, RefusalRule<Own>>;
  /** Asked-for agents who are left out of an accepted request: rows of `id` and `why`, read before anything is written. */
  leftOut?: Sql<Own>;
  /** What is written, in this order: made by `insertAccepted` and `updateAccepted`. */
  writes: ((value: Placeholders<Claim & Own>) => GatedWrite)[];
  /**
   * What an accepted call is told as, on sites with events. Its data is read after the writes; with `beforeWrites` before them, for data
   * that the writes hide.
   */
  event: EventOf<Claim & Own> & { beforeWrites?: true };
  /** `data` of a success. */
  answer: (sessionId: number) => Record<string, unknown> | "";
}

/** The outcome of a batch for the request that sent it. */
export type Outcome =
  /** The operation was done now. `webhooks` have the event to deliver. */
  | { kind: "accepted"; sessionId: number; leftOut: LeftOutAgent[]; webhooks: string[] }
  /** The same request was done before under the same Idempotency-Key. */
  | { kind: "repeated"; sessionId: number }
  /** A rule refused it; only the nonce was written. */
  | { kind: "refused"; refused: Refused }
  /** Another request had used this ranstr; nothing was written. */
  | { kind: "replayed" }
  /** The home does not know the app, its secret or its site as the caches do; nothing was written. */
  | { kind: "credentials_stale" }
  /** The site is closed; nothing was written. */
  | { kind: "site_closed" };

/** The outcome that a request would have now, and the earlier request with its ranstr. */
export interface Preview {
  outcome: Outcome;
  used: Use | null;
}

/** The stored outcome of the request that used a ranstr. */
export interface Use {
  outcome: string;
  sessionId: number | null;
  /** True when it may be the same request as the one that is checked. */
  mayBeItself: boolean;
}

/** A request's fields after they were read. */
export interface Asked {
  /** In the terms of the code; the fingerprint is made of its JSON. */
  input: unknown;
  /** The values that the operation's statements bind. */
  bound: Row;
}

/** A compiled operation. */
export interface Operation {
  name: string;
  wireName: string;
  path: string;
  fields: z.ZodMiniType;
  /** In the order of the documentation. */
  fieldNames: readonly string[];
  digitsOf: string | undefined;
  /** The rules of this operation, by their names. */
  refusals: Record<string, Pick<RefusalRule<Row>, "code" | "past">>;
  /** A pure step of the signed path: checks the fields and translates them. */
  read: (fields: Record<string, unknown>) => Result<Asked>;
  /** The type of the event that an accepted call leaves. */
  eventType: string;
  /** Whether an answer may name agents that were left out, in `x-ignored-agents`. */
  leavesOut: boolean;
  /** The batch of one try. {@link outcomeOf} reads its rows. */
  batch: (db: D1Database, request: ClaimRequest, asked: Asked, attempt: number) => D1PreparedStatement[];
  outcomeOf: (rows: unknown[][]) => Outcome;
  /** The same decision, without writing. {@link previewOf} reads its rows. */
  preview: (db: D1Database, request: ClaimRequest, asked: Asked) => D1PreparedStatement[];
  previewOf: (rows: unknown[][]) => Preview;
  answer: (sessionId: number) => Record<string, unknown> | "";
}

/** Keywords of JSON Schema. */
export interface JsonSchema {
  [keyword: string]: unknown;
}

/** What only the documentation says about an operation. Plain data, which the Worker's bundle leaves out. */
export interface Documentation {
  summary: string;
  description: string;
  /** Merged into the JSON Schema of each field. Every field needs a `description`. Give a keyword as undefined to remove it. */
  fields: Record<string, JsonSchema>;
  /**
   * For tests: values of a field at the edges of its rule, taken and refused. A field with a pattern needs them. A function, because a
   * bundler keeps data that a call makes.
   */
  probes?: () => Record<string, { inside: unknown[]; outside: unknown[] }>;
  /** Named example bodies without `appid`, `timestamp` and `ranstr`. The shared test suites send the first one. */
  examples: Record<string, { summary: string; fields: Record<string, unknown> }>;
  /** `data` of a success. */
  answer: { schema: JsonSchema; example: unknown };
  /** What receivers get: the JSON Schema of the event's `data`, without `seq` and `appid`, which every operation's event has. */
  event: {
    summary: string;
    description: string;
    properties: Record<string, JsonSchema>;
    example: Record<string, unknown>;
  };
  /** For callers: the cause of each refusal of this operation, and what to do. */
  refusals: Record<string, { cause: string; cure: string }>;
}
