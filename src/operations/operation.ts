import type { SQL } from "drizzle-orm";
import type * as z from "zod/mini";
import type { SignedErrorCode } from "../errors.ts";
import { describeIssues, fieldIssues } from "../fields.ts";
import { ok, type Refused, type Result, refused } from "../result.ts";
import {
  type Claim,
  type ClaimRequest,
  claim,
  type GatedWrite,
  gated,
  type OutcomeRow,
  type PreviewRow,
  previewOutcome,
  reading,
  rememberKey,
  selectOutcome,
} from "../store/home/claim.ts";
import type { Bindable, Placeholders } from "../store/statement.ts";

/**
 * What a signed operation is made of. Each is one file of this folder with two exports: the operation itself, made by
 * {@link defineOperation}, and its {@link Documentation}. `npm run generate` lists them in index.ts; routes, OpenAPI, `npm run call`,
 * the signature check, the client's paths and the shared test suites walk that list.
 */

type Row = Record<string, Bindable>;

/** A piece of SQL: a condition, an expression or a SELECT, with a placeholder for each value of the claim and of the operation. */
export type Sql<Own extends Row> = (value: Placeholders<Claim & Own>) => SQL;

/** How an operation may refuse by its own rules. */
export type RefusalCode = Extract<SignedErrorCode, "invalid_parameters" | "session_not_found" | "state_forbids">;

/** An agent who was asked for and is left out. */
export interface LeftOutAgent {
  id: number;
  why: "already on the session" | "unknown" | "disabled";
}

/** One way in which the database refuses. The first whose condition holds is the outcome. */
export interface RefusalRule<Own extends Row> {
  /** The condition. */
  when: Sql<Own>;
  /** How it is answered. */
  code: RefusalCode;
  /** Agent ids that `detail` names, as a JSON array. */
  named?: Sql<Own>;
  /** For `x-error-detail`: the field and its rule, English ASCII. */
  detail: (found: { named: number[]; leftOut: LeftOutAgent[] }) => string;
  /** The same as a sentence about a request of the past, for the console. */
  past: string;
}

export interface Definition<Fields, Input, Own extends Row> {
  /** What it does, in the terms used inside. Stored with idempotency keys, so it never changes. */
  name: string;
  /** What it is called on the wire: the last part of its path. */
  wireName: string;
  /** Its fields as callers send them; `appid`, `timestamp` and `ranstr` are not among them. */
  fields: z.ZodMiniType<Fields> & { shape: object };
  /** A top-level field whose integers count by their digits. */
  digitsOf?: string;
  /**
   * What the fields ask for, in the terms used inside. Its JSON is the fingerprint that an Idempotency-Key is compared by: lists are
   * sorted, and an optional field that is absent is left out, so that a new field changes no fingerprint of before.
   */
  read: (fields: Fields) => Input;
  /** The values that its statements bind, beside those of the claim. */
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
  /** `data` of a success. */
  answer: (sessionId: number) => Record<string, unknown> | "";
}

/** What a batch came to for the request that sent it. */
export type Outcome =
  /** Done now. */
  | { kind: "accepted"; sessionId: number; leftOut: LeftOutAgent[] }
  /** Done before under the same Idempotency-Key for the same request. */
  | { kind: "repeated"; sessionId: number }
  /** Nothing written but the nonce. */
  | { kind: "refused"; refused: Refused }
  /** Another request used this ranstr; nothing written. */
  | { kind: "replayed" }
  /** The app was revoked or its secret rotated away; nothing written. */
  | { kind: "credentials_stale" };

/** What a request would come to now, and what became of the one that used its ranstr before. */
export interface Preview {
  outcome: Outcome;
  used: Use | null;
}

/** What became of the request that used a ranstr. */
export interface Use {
  outcome: string;
  sessionId: number | null;
  /** It may have been the very request that is looked at. */
  mayBeItself: boolean;
}

/** What a request's fields ask for. */
export interface Asked {
  /** In the terms used inside; its JSON is the request's fingerprint. */
  input: unknown;
  /** What the operation's statements bind. */
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
  /** How each outcome of its own is answered, and how it is told of a request of the past. */
  refusals: Record<string, Pick<RefusalRule<Row>, "code" | "past">>;
  /** A pure step of the pipeline: checks the fields and reads what they ask for. */
  read: (fields: Record<string, unknown>) => Result<Asked>;
  /** Whether it names agents whom it leaves out, in `x-ignored-agents`. */
  leavesOut: boolean;
  /** The one batch of a try; its rows go to {@link outcomeOf}. */
  batch: (db: D1Database, request: ClaimRequest, asked: Asked, attempt: number) => D1PreparedStatement[];
  outcomeOf: (rows: unknown[][]) => Outcome;
  /** The same decision without writing; its rows go to {@link previewOf}. */
  preview: (db: D1Database, request: ClaimRequest, asked: Asked) => D1PreparedStatement[];
  previewOf: (rows: unknown[][]) => Preview;
  answer: (sessionId: number) => Record<string, unknown> | "";
}

/** A keyword of JSON Schema by its name. */
export interface JsonSchema {
  [keyword: string]: unknown;
}

/** What only the documentation says of an operation. Plain data, so that the Worker's bundle leaves it out. */
export interface Documentation {
  /** Of the contract, "4.1": the operations are listed in this order. Left out of one that the contract does not have. */
  section?: string;
  summary: string;
  description: string;
  /** Laid over the JSON Schema of each field; every field needs a `description`. A keyword given as undefined goes away. */
  fields: Record<string, JsonSchema>;
  /** Bodies without the stamp, by a name. The shared test suites send the first one. */
  examples: Record<string, { summary: string; fields: Record<string, unknown> }>;
  /** `data` of a success. */
  answer: { schema: JsonSchema; example: unknown };
  /** For callers: why each refusal of its own happens, and what to do. */
  refusals: Record<string, { cause: string; cure: string }>;
}

/** Outcomes that every operation has. */
const RESERVED = ["accepted", "repeated", "key_reused"];

const KEY_REUSED = "Idempotency-Key: was used for a request that meant something else";

/**
 * Compiles an operation when the module loads, so that a request pays for binding its values and nothing else.
 *
 * @throws TypeError for a refusal with a name that means something else
 */
export function defineOperation<Fields, Input, Own extends Row>(definition: Definition<Fields, Input, Own>): Operation {
  type Values = Claim & Own;
  for (const outcome of RESERVED) {
    if (Object.hasOwn(definition.refusals, outcome)) throw new TypeError(`a refusal cannot be called ${outcome}`);
  }
  const { name, wireName, fields, refusals } = definition;
  const claimIt = claim<Values>(definition);
  const readLeftOut = definition.leftOut && reading<Values>(definition.leftOut);
  const writes = definition.writes.map((write) => gated<Values>(write));
  const remember = rememberKey(definition);
  const readOutcome = selectOutcome<Values>(definition);
  const readPreview = previewOutcome<Values>(definition);

  const outcome = (row: Pick<OutcomeRow, "outcome" | "session_id" | "named">, leftOut: LeftOutAgent[]): Outcome => {
    const sessionId = row.session_id ?? 0;
    if (row.outcome === "accepted") return { kind: "accepted", sessionId, leftOut };
    if (row.outcome === "repeated") return { kind: "repeated", sessionId };
    if (row.outcome === "key_reused") {
      return { kind: "refused", refused: refused("idempotency_key_reused", "key_reused", { detail: KEY_REUSED }) };
    }
    const reason = String(row.outcome);
    const rule = refusals[reason];
    if (rule === undefined) throw new Error(`${name} has no outcome ${reason}`);
    const detail = rule.detail({ named: JSON.parse(row.named ?? "[]") as number[], leftOut });
    return { kind: "refused", refused: refused(rule.code, reason, { detail }) };
  };

  return {
    ...{ name, wireName, fields, refusals },
    fieldNames: Object.keys(fields.shape),
    path: `/openapi/chat/${wireName}`,
    digitsOf: definition.digitsOf,
    answer: definition.answer,
    leavesOut: readLeftOut !== undefined,

    read(given) {
      const result = fields.safeParse(given);
      if (!result.success) {
        return refused("invalid_parameters", "fields_invalid", { detail: describeIssues(fieldIssues(result.error)) });
      }
      const input = definition.read(result.data);
      return ok({ input, bound: definition.bind(input) });
    },

    batch(db, request, { bound }, attempt) {
      // The claim last: an operation binds values beside it and never replaces one of it.
      const values = { ...bound, ...request, attempt } as unknown as Values;
      return [
        claimIt(db, values),
        ...(readLeftOut === undefined ? [] : [readLeftOut(db, values)]),
        ...writes.map((write) => write(db, values)),
        ...(request.key === null ? [] : [remember(db, values)]),
        readOutcome(db, values),
      ];
    },

    outcomeOf(rows) {
      const row = rows.at(-1)?.[0] as OutcomeRow;
      // A claim that is held comes first: it was decided while the app was good.
      if (row.mine !== 1) return { kind: row.app_is_good === 1 ? "replayed" : "credentials_stale" };
      return outcome(row, readLeftOut === undefined ? [] : (rows[1] as LeftOutAgent[]));
    },

    preview(db, request, { bound }) {
      const values = { ...bound, ...request, attempt: 0 } as unknown as Values;
      return [readPreview(db, values), ...(readLeftOut === undefined ? [] : [readLeftOut(db, values)])];
    },

    previewOf(rows) {
      const [[row], leftOut = []] = rows as [[PreviewRow], LeftOutAgent[]?];
      const { used_outcome, used_session_id, may_be_itself, ...decided } = row;
      const itsOwn = used_outcome === "key_reused" || Object.hasOwn(refusals, String(used_outcome));
      return {
        outcome: outcome(decided, leftOut),
        used:
          used_outcome === null
            ? null
            : {
                outcome: used_outcome,
                sessionId: used_session_id,
                mayBeItself: used_session_id === null ? itsOwn : may_be_itself === 1,
              },
      };
    },
  };
}
