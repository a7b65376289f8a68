import { isRefusedFor } from "../../../core/errors.ts";
import { refusalOf } from "../../../core/http/faults.ts";
import {
  REDELIVERED_STATUSES,
  type RedeliveredStatus,
  redeliverEvents,
  redeliveringSchema,
} from "../../services/events.ts";
import type { WebhookOf } from "../../services/webhooks.ts";
import type { PageContext } from "../env.ts";
import type { EnteredFields } from "../forms/form-action.ts";
import { wholeNumber } from "../forms/read-form.ts";
import { secondsOf, type View } from "../view.ts";

/** Sends many events to a webhook again: reads the form, and works in steps. */

/** How many steps of the service one press of a button makes. A step has up to 5,000 events. */
const MOST_STEPS = 4;

/** The events to send again. See `redeliverEvents`. */
export interface WantedEvents {
  status: readonly RedeliveredStatus[];
  since?: number | undefined;
  until?: number | undefined;
  afterSeq?: number | undefined;
}

/** The result of one press: the number of events that were counted or are being sent, the end of the time, and where to continue. */
export interface SentEvents {
  count: number;
  until: number;
  nextAfterSeq: number | null;
}

/** The values of a form that sends events again: two times, a field for each ticked status, and the seq to continue after. */
export const sendAgainValues = (
  status: readonly string[],
  since: string | number = "",
  until: string | number = "",
  afterSeq: string | number = "",
): Record<string, string> => ({
  since: String(since),
  until: String(until),
  ...(afterSeq !== "" && { after_seq: String(afterSeq) }),
  ...Object.fromEntries(status.map((each) => [each, "on"])),
});

/** Reads a form that sends events again, as `formAction` needs it. */
export function sentAgain({ t, timeZone }: View, form: Record<string, string>) {
  const { since = "", until = "", after_seq = "" } = form;
  const status = REDELIVERED_STATUSES.filter((each) => form[each] !== undefined);
  // A text that is no time stays a text, which the schema refuses by the field's name.
  const timeOf = (text: string, isEnd: boolean) => {
    const number = wholeNumber(text);
    return typeof number === "string" ? (secondsOf(text, timeZone, isEnd) ?? text) : number;
  };
  const checked = redeliveringSchema.safeParse({
    since: timeOf(since, false),
    until: timeOf(until, true),
    after_seq: wholeNumber(after_seq),
    status,
  });
  const notTime = t("Must be a date and a time");
  const errors = {
    since: ["since", notTime],
    until: ["until", notTime],
    status: ["statuses", t("Tick at least one of them.")],
    after_seq: ["after_seq", t("Is required")],
  };
  const entered: EnteredFields<WantedEvents> = checked.success
    ? { input: { ...checked.data, status, afterSeq: checked.data.after_seq } }
    : { errors: Object.fromEntries(checked.error.issues.map(({ path }) => errors[path[0] as keyof typeof errors])) };
  return { values: sendAgainValues(status, since, until, after_seq), entered };
}

/** The service's refusals of a form whose single fields are right. Undefined for any other error. */
export function refusedAgain({ t }: View, error: unknown): Record<string, string> | undefined {
  if (!isRefusedFor(error, "fields_invalid")) return undefined;
  const [issue] = error.context.issues ?? [];
  if (issue?.field === "status") return { since: t("Missed events need a time to begin with.") };
  return issue?.field === "since" ? { since: t("Must not be after “To”.") } : undefined;
}

/**
 * Sends events again, or counts them, in up to {@link MOST_STEPS} steps. An error after the first step ends the work. The result then
 * has the events of the finished steps, and the reader can continue with the rest.
 */
export async function runSteps(
  c: PageContext,
  webhookOfPath: WebhookOf,
  wanted: WantedEvents,
  dryRun: boolean,
): Promise<SentEvents> {
  const { ctx } = c.var;
  const { until = ctx.now, afterSeq } = wanted;
  const sentEvents: SentEvents = { count: 0, until, nextAfterSeq: afterSeq ?? null };
  for (let step = 0; step < MOST_STEPS; step++) {
    const input = { ...webhookOfPath, ...wanted, until, afterSeq: sentEvents.nextAfterSeq ?? undefined, dryRun };
    try {
      const { matched, queued, nextAfterSeq } = await redeliverEvents(ctx, input);
      sentEvents.count += dryRun ? matched : queued;
      sentEvents.nextAfterSeq = nextAfterSeq;
    } catch (error) {
      if (step === 0) throw error;
      refusalOf(error as Error, c.var.trace);
      break;
    }
    if (sentEvents.nextAfterSeq === null) break;
  }
  return sentEvents;
}
