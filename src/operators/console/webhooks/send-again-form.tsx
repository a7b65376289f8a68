import { REDELIVERED_STATUSES, type RedeliveredStatus } from "../../services/events.ts";
import { unixSecondsSchema } from "../../services/page.ts";
import type { Webhook } from "../../services/webhooks.ts";
import { wholeNumber } from "../forms/read-form.ts";
import { Field } from "../parts/form.tsx";
import { statusText } from "../sessions/session-table.tsx";
import { localTime, type View } from "../view.ts";

/** The form that chooses the events to send again. Sending this form only counts them. */

/** The times to choose from: the last hour, the last 24 hours, since the webhook began to fail, or times that the reader types. */
const TIMES = ["hour", "day", "failing", "own"] as const;

type ChosenTime = (typeof TIMES)[number];

const LENGTHS: Partial<Record<ChosenTime, number>> = { hour: 3_600, day: 86_400 };

/** The statuses that are ticked at first: those of events that the receiver does not have. */
const MISSING_STATUSES: readonly RedeliveredStatus[] = ["failed", "pending", "missed"];

/** The time that an address or a form asks for. */
export function askedTime(query: Record<string, string>, { failingSince }: Webhook): ChosenTime {
  const isOwn = ["since", "until", ...REDELIVERED_STATUSES].some((name) => query[name] !== undefined);
  const time = TIMES.find((each) => each === query.time) ?? (isOwn ? "own" : "hour");
  return time === "failing" && failingSince === null ? "day" : time;
}

/** The fields of the form that sends: the chosen time in Unix seconds, or as it was typed. */
export function fieldsOf(
  query: Record<string, string>,
  time: ChosenTime,
  now: number,
  { failingSince }: Webhook,
): Record<string, string> {
  const isFirst = query.time === undefined && time !== "own";
  const all = isFirst ? { ...query, ...Object.fromEntries(MISSING_STATUSES.map((status) => [status, "on"])) } : query;
  if (time === "own") return all;
  const length = LENGTHS[time];
  const since = length === undefined ? (failingSince ?? now) : now - length;
  return { ...all, since: String(since), until: String(now) };
}

export function SendAgainForm(props: {
  view: View;
  path: string;
  webhook: Webhook;
  time: ChosenTime;
  values: Record<string, string>;
  errors: Record<string, string>;
}) {
  const { view, path, webhook, time, values, errors } = props;
  const { t } = view;
  const { failingSince } = webhook;
  const labels: Record<ChosenTime, string> = {
    hour: t("The last hour"),
    day: t("The last 24 hours"),
    failing: t("Since it began to fail: {0}", view.time(failingSince ?? 0)),
    own: t("Times of your own"),
  };
  const hints: Record<RedeliveredStatus, string> = {
    failed: t("all eight attempts failed, or the webhook was disabled"),
    pending: t("due at once, with eight attempts again"),
    missed: t("of a type that it wants, and never meant for it: it was disabled, or not there yet"),
    delivered: t("the receiver gets them a second time, under the same webhook-id"),
  };
  // A time is in Unix seconds when it comes from a button, or from a form that was not carried out.
  const localTimeText = (text = "") =>
    unixSecondsSchema.safeParse(wholeNumber(text)).success ? localTime(Number(text), view.timeZone) : text;
  const ownTimeText = (text = "") => (time === "own" ? localTimeText(text) : "");
  return (
    <section class="card">
      <h2>{t("Which events")}</h2>
      <p class="hint">
        {t(
          "For a receiver that was down, or lost what it had: each event that matches is due within seconds, with eight attempts, and what its receiver answered before is cleared. Pings and erased events are never sent again.",
        )}
      </p>
      <form method="get" action={`${path}/send-again`} class="again">
        <fieldset>
          <legend>{t("Time")}</legend>
          {TIMES.filter((each) => each !== "failing" || failingSince !== null).map((each) => (
            <p class="tick">
              <input type="radio" id={`time-${each}`} name="time" value={each} checked={each === time} />
              <label for={`time-${each}`}>{labels[each]}</label>
            </p>
          ))}
          <div class="own">
            <Field
              label={t("From")}
              name="since"
              type="datetime-local"
              value={ownTimeText(values.since)}
              error={errors.since}
              hint={t("When the event happened, in {0}. Left empty: all that is kept.", view.timeZone)}
            />
            <Field
              label={t("To")}
              name="until"
              type="datetime-local"
              value={ownTimeText(values.until)}
              error={errors.until}
              hint={t("This minute too. Left empty: until now.")}
            />
          </div>
        </fieldset>
        <fieldset id="statuses" aria-describedby={errors.statuses && "statuses-error"}>
          <legend>{t("State")}</legend>
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
        {values.after_seq && <input type="hidden" name="after_seq" value={values.after_seq} />}
        <button type="submit" class="plain">
          {t("Count")}
        </button>
      </form>
    </section>
  );
}
