import { isRefusedFor } from "../../../errors.ts";
import {
  REDELIVERED_STATUSES,
  type RedeliveredStatus,
  redeliverEvents,
  redeliveringSchema,
} from "../../../services/events.ts";
import type { WebhookOf } from "../../../services/webhooks.ts";
import { refusalOf } from "../../faults.ts";
import { withParameter } from "../console-path.ts";
import type { PageContext } from "../env.ts";
import type { Entered } from "../forms/form-action.ts";
import type { Filled } from "../forms/messages.ts";
import { wholeNumber } from "../forms/read-form.ts";
import { ticketEnd, ticketFor } from "../forms/tickets.ts";
import { Field, Form } from "../parts/form.tsx";
import { NoticeBox } from "../parts/parts.tsx";
import { statusText } from "../sessions/session-table.tsx";
import { localTime, secondsOf, type View } from "../view.ts";

/** The form that sends many events to a webhook again, and what came of it. */

/** One press of a button goes this many steps of the service, each of up to 5,000 events. */
const MOST_STEPS = 4;

/** So long the page after the form shows what was sent, and can go on with the rest. */
const SHOWN_SECONDS = 7_200;

/** What to send again: see `redeliverEvents`. */
export interface Wanted {
  status: readonly RedeliveredStatus[];
  since?: number | undefined;
  until?: number | undefined;
  afterSeq?: number | undefined;
}

/** What one press did: how many events fit or are on their way, the end of the time, and where to go on. */
interface Sent {
  count: number;
  until: number;
  nextAfterSeq: number | null;
}

/** A form that is shown again, with what its button to count found. */
export interface Counted extends Filled {
  counted?: Sent | undefined;
}

/** The values of {@link SendAgainForm}: two times, one field for each ticked status, and the seq to go on after. */
export const sendAgainValues = (
  status: readonly RedeliveredStatus[] = ["failed", "pending"],
  since = "",
  until = "",
  afterSeq = "",
): Record<string, string> => ({
  since,
  until,
  ...(afterSeq && { after_seq: afterSeq }),
  ...Object.fromEntries(status.map((each) => [each, "on"])),
});

export const sendAgainLabels = ({ t }: View) => ({ since: t("From"), until: t("To"), statuses: t("Which events") });

/** Reads a sent {@link SendAgainForm} for `formAction`. */
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

/** The element that shows an error: `status` is the name of the filter above the deliveries. */
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

const purposeOf = (path: string, told: string) => ["sent", path, told];

/** The address of the webhook's page after events were sent again. Only this console session sees what it tells. */
export async function sentLocation(c: PageContext, path: string, wanted: Wanted, sent: Sent): Promise<string> {
  const { session, now } = c.var.view;
  if (session === undefined) return path;
  const { count, until, nextAfterSeq } = sent;
  const told = [count, nextAfterSeq ?? "", wanted.since ?? "", until, ...wanted.status].join("~");
  const ticket = await ticketFor(session, purposeOf(path, told), now, SHOWN_SECONDS);
  return withParameter(path, "sent", `${told}.${ticket}`);
}

/** What {@link sentLocation} tells, with a button that goes on with the rest. */
export async function sentNotice(c: PageContext, path: string) {
  const { view } = c.var;
  const { t, session, now } = view;
  const [, told = "", ticket = ""] = /^([^.]+)\.(.*)$/.exec(c.req.query("sent") ?? "") ?? [];
  if (session === undefined || (await ticketEnd(session, purposeOf(path, told), ticket, now)) === undefined)
    return null;
  const [count = "", next = "", since, until, ...status] = told.split("~");
  const number = new Intl.NumberFormat(view.language).format(Number(count));
  if (next === "") {
    const isNone = count === "0";
    return isNone ? (
      <NoticeBox kind="note" title={t("No event matched, so none was sent.")} />
    ) : (
      <NoticeBox
        kind="good"
        title={t("Events sent again: {0}. The deliveries below tell what comes of them.", number)}
      />
    );
  }
  const hidden = sendAgainValues(status as RedeliveredStatus[], since, until, next);
  return (
    <NoticeBox kind="note" title={t("Events sent again: {0}. There may be more.", number)}>
      <Form view={view} action={`${path}/send-again`}>
        {Object.entries(hidden).map(([name, value]) => (
          <input type="hidden" name={name} value={value} />
        ))}
        <button type="submit">{t("Go on with the rest")}</button>
      </Form>
    </NoticeBox>
  );
}

/** What the button to count found. */
export function CountNotice({ view, counted }: { view: View; counted: Sent }) {
  const { t } = view;
  const number = new Intl.NumberFormat(view.language).format(counted.count);
  return (
    <NoticeBox
      kind="note"
      title={
        counted.nextAfterSeq === null
          ? t("Events that match: {0}. Nothing was sent yet.", number)
          : t("Events that match: {0} or more. Nothing was sent yet.", number)
      }
    />
  );
}

export function SendAgainForm(props: {
  view: View;
  path: string;
  values: Record<string, string>;
  errors: Record<string, string> | undefined;
}) {
  const { view, path, values, errors = {} } = props;
  const { t } = view;
  const hints: Record<RedeliveredStatus, string> = {
    failed: t("all eight attempts failed, or the webhook was disabled"),
    pending: t("due at once, with eight attempts again"),
    missed: t("of a type that it wants, and never meant for it: it was disabled, or not there yet"),
    delivered: t("the receiver gets them a second time, under the same webhook-id"),
  };
  // After “Go on with the rest”, a time is in Unix seconds.
  const shown = (text = "") => (/^\d+$/.test(text) ? localTime(Number(text), view.timeZone) : text);
  return (
    <section class="card">
      <h2>{t("Send events again")}</h2>
      <p>
        {t(
          "For a receiver that was down, or lost what it had: each event that matches is due within seconds, with eight attempts. Pings and erased events are never sent again.",
        )}
      </p>
      <Form view={view} action={`${path}/send-again`}>
        <div class="filter">
          <Field
            label={t("From")}
            name="since"
            type="datetime-local"
            value={shown(values.since)}
            error={errors.since}
            hint={t("When the event happened, in {0}. Left empty: all that is kept.", view.timeZone)}
          />
          <Field
            label={t("To")}
            name="until"
            type="datetime-local"
            value={shown(values.until)}
            error={errors.until}
            hint={t("This minute too. Left empty: until now.")}
          />
        </div>
        <fieldset id="statuses" aria-describedby={errors.statuses && "statuses-error"}>
          <legend>{t("Which events")}</legend>
          {REDELIVERED_STATUSES.map((status) => (
            <p class="tick">
              <input
                type="checkbox"
                id={status}
                name={status}
                checked={status in values}
                aria-describedby={`${status}-hint`}
              />
              <label for={status}>{statusText(view, status)}</label>
              <span class="hint" id={`${status}-hint`}>
                {hints[status]}
              </span>
            </p>
          ))}
          {errors.statuses && (
            <p class="error" id="statuses-error">
              {errors.statuses}
            </p>
          )}
        </fieldset>
        {values.after_seq && (
          <>
            <p class="hint">{t("Goes on after event {0}.", values.after_seq)}</p>
            <input type="hidden" name="after_seq" value={values.after_seq} />
          </>
        )}
        <div class="buttons">
          <button type="submit" name="count" value="yes" class="plain">
            {t("Count first")}
          </button>
          <button type="submit">{t("Send again")}</button>
        </div>
      </Form>
    </section>
  );
}
