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
  status: readonly RedeliveredStatus[],
  since = "",
  until = "",
  afterSeq = "",
): Record<string, string> => ({
  since,
  until,
  ...(afterSeq && { after_seq: afterSeq }),
  ...Object.fromEntries(status.map((each) => [each, "on"])),
});

/** Reads a form that sends events again, as `formAction` needs it. */
export function sentAgain(view: View, form: Record<string, string>) {
  const { since = "", until = "", after_seq = "" } = form;
  const status = REDELIVERED_STATUSES.filter((each) => form[each] !== undefined);
  return { values: sendAgainValues(status, since, until, after_seq), entered: enteredIn(view, form, status) };
}

function enteredIn(view: View, form: Record<string, string>, status: RedeliveredStatus[]): EnteredFields<WantedEvents> {
  const { t } = view;
  const { since = "", until = "", after_seq = "" } = form;
  // A text that is no time stays a text, which the schema refuses by the field's name.
  const timeOf = (text: string, isEnd: boolean) => {
    const number = wholeNumber(text);
    return typeof number === "string" ? (secondsOf(text, view.timeZone, isEnd) ?? text) : number;
  };
  const checked = redeliveringSchema.safeParse({
    since: timeOf(since, false),
    until: timeOf(until, true),
    after_seq: wholeNumber(after_seq),
    status,
  });
  if (checked.success) return { input: { ...checked.data, status, afterSeq: checked.data.after_seq } };
  const words: Record<string, string> = {
    since: t("Must be a date and a time"),
    until: t("Must be a date and a time"),
    status: t("Tick at least one of them."),
  };
  const fields = new Set(checked.error.issues.map(({ path }) => String(path[0])));
  return { errors: Object.fromEntries([...fields].map((name) => [fieldOf(name), words[name] ?? t("Is required")])) };
}

/** The id of the element that shows a field's error. */
const fieldOf = (name: string) => (name === "status" ? "statuses" : name);

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
  const sentEvents: SentEvents = {
    count: 0,
    until: wanted.until ?? c.var.ctx.now,
    nextAfterSeq: wanted.afterSeq ?? null,
  };
  for (let step = 0; step < MOST_STEPS; step++) {
    const afterSeq = sentEvents.nextAfterSeq ?? undefined;
    try {
      const stepResult = await redeliverEvents(c.var.ctx, {
        ...webhookOfPath,
        ...wanted,
        until: sentEvents.until,
        afterSeq,
        dryRun,
      });
      sentEvents.count += dryRun ? stepResult.matched : stepResult.queued;
      sentEvents.nextAfterSeq = stepResult.nextAfterSeq;
    } catch (error) {
      if (step === 0) throw error;
      refusalOf(error as Error, c.var.trace);
      break;
    }
    if (sentEvents.nextAfterSeq === null) break;
  }
  return sentEvents;
}
