import { ConfigurationError } from "../config.ts";
import { UnsealError } from "../credentials/sealed-secret.ts";
import { detailOf } from "../describe-violations.ts";
import { type ErrorContext, ServiceError, STATUS_OF } from "../errors.ts";
import { MAIN_HOME } from "../homes.ts";
import { databaseFault, rootOf } from "../store/run-batch.ts";
import type { Trace } from "../telemetry/trace.ts";

/**
 * Turns any error into a ServiceError, which each surface answers in its own form. The cause is logged and never sent.
 *
 * @param trace receives the reason, the detail, its violations and the cause, for the log and the journal
 */
export function refusalOf(error: Error, trace: Trace): ServiceError {
  const refusal = error instanceof ServiceError ? error : unexpectedError(error);
  const { cause } = refusal.context;
  noteRefusal(trace, refusal.context);
  trace.serverFault = STATUS_OF[refusal.code] >= 500;
  if (cause !== undefined) trace.fault = describeFault(cause);
  return refusal;
}

/** Notes why a call is refused, for the log and the journal. */
export function noteRefusal(trace: Trace, refusal: Pick<ErrorContext, "reason" | "violations" | "detail">): void {
  trace.reason = refusal.reason;
  trace.violations = refusal.violations;
  trace.detail = detailOf(refusal);
}

/** The reasons for refusals that a database without a usable answer may have caused. */
const NO_ANSWER: ReadonlySet<string> = new Set([
  "d1_unavailable",
  "d1_stalled",
  "d1_answer_incomplete",
  "d1_not_migrated",
  "app_unfinished",
  "operator_time_limit",
]);

/**
 * The home that the answer names when an operator's call got no answer from a database. The text names the directory too, because the
 * error does not show which of the two was silent. Undefined when the call's home is `main`, which is the directory itself.
 */
export function silentHome({ context }: ServiceError, { home }: Trace): string | undefined {
  return home !== MAIN_HOME && NO_ANSWER.has(context.reason) ? home : undefined;
}

function unexpectedError(error: Error): ServiceError {
  if (error instanceof ConfigurationError)
    return new ServiceError("internal", { reason: "configuration", cause: error });
  if (error instanceof UnsealError) return new ServiceError("internal", { reason: "master_key_wrong", cause: error });
  return databaseFault(error) ?? new ServiceError("internal", { reason: "unexpected", cause: error });
}

/** Matches messages without data of callers. Two do not match: D1_TYPE_ERROR quotes a value, and "Failed to parse" quotes an answer. */
const SAFE_MESSAGE = /^D1_ERROR: (?!Failed to parse)|^D1_STALLED: |^no answer in|^Network connection lost/;

/**
 * Describes a fault without data of callers. Messages of the configuration, of seals and of D1 name settings, tables and columns only.
 * Any other message may quote a caller, as a parser's message does. Such an error is logged with its name and stack, without its message.
 */
function describeFault(cause: unknown): string {
  const root = rootOf(cause);
  const safe = root instanceof ConfigurationError || root instanceof UnsealError || SAFE_MESSAGE.test(root.message);
  if (safe) return `${root.name}: ${root.message}`.slice(0, 300);
  const frames = (root.stack ?? "")
    .replace(root.message, "")
    .split("\n")
    .filter((line) => /^\s+at /.test(line));
  return [root.name, ...frames.slice(0, 5).map((frame) => frame.trim())].join(" ");
}
