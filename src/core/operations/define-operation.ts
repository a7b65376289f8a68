import { ok, refused } from "../result.ts";
import type { LeftOutAgent, Violation } from "../rules.ts";
import {
  type Claim,
  claim,
  gatedReading,
  gatedStatement,
  type OutcomeRow,
  type PreviewRow,
  previewOutcome,
  rememberKey,
  selectOutcome,
} from "../store/claim.ts";
import { insertDeliveries, insertEvent } from "../store/outbox.ts";
import type { Placeholders, Statement } from "../store/statement.ts";
import type { Definition, Operation, OperationValues, Outcome } from "./operation.ts";
import { violationsOfFields } from "./violations-of-fields.ts";

/** The outcome of a request without the claim, for each answer of the gate. */
const NOT_MINE = { open: "replayed", closed: "site_closed", unknown_caller: "credentials_stale" } as const;

/** Outcomes that every operation has. */
const RESERVED = ["accepted", "repeated", "key_reused"];

const KEY_REUSED: Violation = { field: "Idempotency-Key", rule: "key_of_one_request" };

/**
 * Compiles an operation when the module loads, so that a request only binds values.
 *
 * @throws TypeError for a refusal whose name is an outcome of every operation
 */
export function defineOperation<Fields, Input, Own extends OperationValues>(
  definition: Definition<Fields, Input, Own>,
): Operation {
  type Values = Claim & Own;
  for (const outcome of RESERVED) {
    if (Object.hasOwn(definition.refusals, outcome)) throw new TypeError(`a refusal cannot be called ${outcome}`);
  }
  const { name, wireName, fields, refusals, event } = definition;
  const insertClaim = claim<Values>(definition);
  const readLeftOut = definition.leftOut && gatedReading<Values, LeftOutAgent>(definition.leftOut);
  const writeEvent = (v: Placeholders<Values>) => insertEvent<Values>(event, v);
  const [writes, eventWrite] = [
    definition.writes.map((write) => gatedStatement<Values>(write)),
    gatedStatement<Values>(writeEvent),
  ];
  const writesWithEvent = event.beforeWrites === true ? [eventWrite, ...writes] : [...writes, eventWrite];
  const remember = rememberKey(definition);
  const readOutcome = selectOutcome<Values>(definition);
  // Compiled at the first signature check, because no signed request needs it.
  let readPreview: Statement<Values, PreviewRow> | undefined;

  const outcome = (
    row: Pick<OutcomeRow, "outcome" | "session_id" | "named">,
    leftOut: LeftOutAgent[],
    webhooks: string[],
  ): Outcome => {
    const sessionId = row.session_id ?? 0;
    if (row.outcome === "accepted") return { kind: "accepted", sessionId, leftOut, webhooks };
    if (row.outcome === "repeated") return { kind: "repeated", sessionId };
    if (row.outcome === "key_reused") {
      return {
        kind: "refused",
        refused: refused("idempotency_key_reused", "key_reused", { violations: [KEY_REUSED] }),
      };
    }
    const reason = String(row.outcome);
    const rule = refusals[reason];
    if (rule === undefined) throw new Error(`${name} has no outcome ${reason}`);
    const violation = rule.violation({ named: JSON.parse(row.named ?? "[]") as LeftOutAgent[], leftOut });
    return { kind: "refused", refused: refused(rule.code, reason, { violations: [violation] }) };
  };

  return {
    name,
    wireName,
    fields,
    refusals,
    fieldNames: Object.keys(fields.shape),
    path: `/openapi/chat/${wireName}`,
    exactField: definition.exactField,
    answer: definition.answer,
    eventType: event.type,
    leavesOut: readLeftOut !== undefined,

    read(sentFields) {
      const result = fields.safeParse(sentFields);
      if (!result.success) {
        return refused("invalid_parameters", "fields_invalid", {
          violations: violationsOfFields(fields, result.error, sentFields),
        });
      }
      const input = definition.read(result.data);
      return ok({ input, bound: definition.bind(input) });
    },

    batch(db, request, { bound }, attempt) {
      // The claim's values come last, so that an operation's value never replaces one of them.
      const values = { ...bound, ...request, attempt } as unknown as Values;
      return {
        claim: insertClaim(db, values),
        leftOut: readLeftOut?.(db, values),
        writes: (request.events === 1 ? writesWithEvent : writes).map((write) => write(db, values)),
        remember: request.key === null ? undefined : remember(db, values),
        deliveries: request.events === 1 ? insertDeliveries(db, values) : undefined,
        outcome: readOutcome(db, values),
      };
    },

    outcomeOf({ leftOut, deliveries, outcome: rows }) {
      // runBatch refuses an answer without this row.
      const row = rows[0] as OutcomeRow;
      // The claim's decision counts even when the app was revoked afterwards, because it was made while the app was valid.
      if (row.mine !== 1) return { kind: NOT_MINE[row.gate ?? "unknown_caller"] };
      return outcome(
        row,
        leftOut ?? [],
        (deliveries ?? []).map(({ webhook_id }) => webhook_id),
      );
    },

    preview(db, request, { bound }) {
      const values = { ...bound, ...request, attempt: 0 } as unknown as Values;
      readPreview ??= previewOutcome<Values>(definition);
      return { decision: readPreview(db, values), leftOut: readLeftOut?.(db, values) };
    },

    previewOf({ decision, leftOut }) {
      // The SELECT of the decision always gives one row.
      const { used_outcome, used_session_id, may_be_itself, ...decided } = decision[0] as PreviewRow;
      const isOwnRefusal = used_outcome === "key_reused" || Object.hasOwn(refusals, String(used_outcome));
      return {
        outcome: outcome(decided, leftOut ?? [], []),
        used:
          used_outcome === null
            ? null
            : {
                outcome: used_outcome,
                sessionId: used_session_id,
                mayBeItself: used_session_id === null ? isOwnRefusal : may_be_itself === 1,
              },
      };
    },
  };
}
