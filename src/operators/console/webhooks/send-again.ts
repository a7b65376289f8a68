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
import type { Entered } from "../forms/form-action.ts";
import { wholeNumber } from "../forms/read-form.ts";
import { secondsOf, type View } from "../view.ts";

/** Sending many events to a webhook again: what a form asks for, and doing it in steps. */

/** One press of a button goes this many steps of the service, each of up to 5,000 events. */
const MOST_STEPS = 4;

/** What to send again: see `redeliverEvents`. */
export interface Wanted {
  status: readonly RedeliveredStatus[];
  since?: number | undefined;
  until?: number | undefined;
  afterSeq?: number | undefined;
}

/** What one press did: how many events fit or are on their way, the end of the time, and where to go on. */
export interface Sent {
  count: number;
  until: number;
  nextAfterSeq: number | null;
}

/** The values of a form that sends events again: two times, one field for each ticked status, and the seq to go on after. */
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

/** Reads such a form for `formAction`. */
export function sentAgain(view: View, form: Record<string, string>) {
  const { since = "", until = "", after_seq = "" } = form;
  const status = REDELIVERED_STATUSES.filter((each) => form[each] !== undefined);
  return { values: sendAgainValues(status, since, until, after_seq), entered: enteredIn(view, form, status) };
}

function enteredIn(view: View, form: Record<string, string>, status: RedeliveredStatus[]): Entered<Wanted> {
  const { t } = view;
  const { since = "", until = "", after_seq = "" } = form;
  // What cannot be read stays a text, which the schema refuses by the field's name.
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

/** The element that shows an error. */
const fieldOf = (name: string) => (name === "status" ? "statuses" : name);

/** The service's refusals of a form whose fields are each right. Undefined for any other error. */
export function refusedAgain({ t }: View, error: unknown): Record<string, string> | undefined {
  if (!isRefusedFor(error, "fields_invalid")) return undefined;
  const [issue] = error.context.issues ?? [];
  if (issue?.field === "status") return { since: t("Missed events need a time to begin with.") };
  return issue?.field === "since" ? { since: t("Must not be after “To”.") } : undefined;
}

/**
 * Sends events again, or counts them, in up to {@link MOST_STEPS} steps. A fault after the first step ends it: what is on its way is
 * told, and the rest can go on.
 */
export async function goSteps(c: PageContext, which: WebhookOf, wanted: Wanted, dryRun: boolean): Promise<Sent> {
  const sent: Sent = { count: 0, until: wanted.until ?? c.var.ctx.now, nextAfterSeq: wanted.afterSeq ?? null };
  for (let step = 0; step < MOST_STEPS; step++) {
    const afterSeq = sent.nextAfterSeq ?? undefined;
    try {
      const done = await redeliverEvents(c.var.ctx, { ...which, ...wanted, until: sent.until, afterSeq, dryRun });
      sent.count += dryRun ? done.matched : done.queued;
      sent.nextAfterSeq = done.nextAfterSeq;
    } catch (error) {
      if (step === 0) throw error;
      refusalOf(error as Error, c.var.trace);
      break;
    }
    if (sent.nextAfterSeq === null) break;
  }
  return sent;
}
