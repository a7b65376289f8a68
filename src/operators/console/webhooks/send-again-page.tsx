import { isRefusedFor } from "../../../core/errors.ts";
import { REDELIVERED_STATUSES, type RedeliveredStatus } from "../../services/events.ts";
import { unixSecondsSchema } from "../../services/page.ts";
import type { Site } from "../../services/sites.ts";
import type { Webhook } from "../../services/webhooks.ts";
import type { PageContext } from "../env.ts";
import { formAction } from "../forms/form-action.ts";
import type { FilledForm } from "../forms/messages.ts";
import { readForm, wholeNumber } from "../forms/read-form.ts";
import { showPage } from "../layout.tsx";
import { FieldsForm, FormErrors, FormFields } from "../parts/form.tsx";
import { NoticeBox } from "../parts/parts.tsx";
import { statusText } from "../sessions/session-table.tsx";
import { localTime, useView, type View } from "../view.ts";
import { OFFERED_SECONDS, resultIn, withResult } from "./result-address.ts";
import {
  refusedAgain,
  runSteps,
  type SentEvents,
  sendAgainValues,
  sentAgain,
  type WantedEvents,
} from "./send-again.ts";
import { Ticks } from "./ticks.tsx";
import { UpLink, webhookOf } from "./webhook-of.tsx";

/** The times to choose from: the last hour, the last 24 hours, since the webhook began to fail, or times that the reader types. */
const TIMES = ["hour", "day", "failing", "own"] as const;

type ChosenTime = (typeof TIMES)[number];

const LENGTHS: Partial<Record<ChosenTime, number>> = { hour: 3_600, day: 86_400 };

/** The statuses that are ticked at first: those of events that the receiver does not have. */
const MISSING_STATUSES: readonly RedeliveredStatus[] = ["failed", "pending", "missed"];

/** The time that an address or a form asks for. */
function askedTime(query: Record<string, string>, { failingSince }: Webhook): ChosenTime {
  const isOwn = ["since", "until", ...REDELIVERED_STATUSES].some((name) => query[name] !== undefined);
  const time = TIMES.find((each) => each === query.time) ?? (isOwn ? "own" : "hour");
  return time === "failing" && failingSince === null ? "day" : time;
}

/** The fields of the form that sends: the chosen time in Unix seconds, or as it was typed. */
function fieldsOf(query: Record<string, string>, time: ChosenTime, now: number, { failingSince }: Webhook) {
  const isFirst = query.time === undefined && time !== "own";
  const all = isFirst ? { ...query, ...Object.fromEntries(MISSING_STATUSES.map((status) => [status, "on"])) } : query;
  if (time === "own") return all;
  const length = LENGTHS[time];
  const since = length === undefined ? (failingSince ?? now) : now - length;
  return { ...all, since: String(since), until: String(now) };
}

export async function postSendAgain(c: PageContext, site: Site): Promise<Response> {
  const { webhookOfPath, path } = await webhookOf(c, site);
  const { view } = c.var;
  const form = await readForm(c);
  return formAction(c, form, {
    ...sentAgain(view, form),
    page: (filledForm) => sendAgainPage(c, site, filledForm),
    list: path,
    refused: (error) => refusedAgain(view, error),
    work: async (wanted) => {
      try {
        return await sentLocation(c, path, wanted, await runSteps(c, webhookOfPath, wanted, false));
      } catch (error) {
        // The webhook's page says that the webhook is disabled, and why.
        if (isRefusedFor(error, "webhook_disabled")) return path;
        throw error;
      }
    },
  });
}

/**
 * Asks which events to send again, and counts them before they are sent. The address says what to count. By default, it is all events
 * that the receiver missed in the last hour.
 *
 * @param filledForm the form to send, when a sent form was not carried out
 */
export async function sendAgainPage(c: PageContext, siteOfPath: Site, filledForm?: FilledForm): Promise<Response> {
  const { view } = c.var;
  const { t } = view;
  const { webhook, webhookOfPath, site, path } = await webhookOf(c, siteOfPath);
  if (webhook.status === "disabled") return c.redirect(path, 303);
  const query = filledForm?.values ?? c.req.query();
  const time = askedTime(query, webhook);
  const { values, entered } = sentAgain(view, fieldsOf(query, time, view.now, webhook));
  let errors = filledForm?.errors ?? ("errors" in entered ? entered.errors : {});
  let count: Parameters<typeof CountCard>[0] | undefined;
  if ("input" in entered && Object.keys(errors).length === 0) {
    const { input: wanted } = entered;
    try {
      count = { path, wanted, sentEvents: await runSteps(c, webhookOfPath, wanted, true) };
    } catch (error) {
      if (isRefusedFor(error, "webhook_disabled")) return c.redirect(path, 303);
      const refused = refusedAgain(view, error);
      if (refused === undefined) throw error;
      errors = refused;
    }
  }
  const filled = filledForm ?? (Object.keys(errors).length > 0 ? { values, errors } : undefined);
  const body = (
    <>
      <UpLink path={path} webhook={webhook} />
      <FormErrors filled={filled} fields={{ since: t("From"), until: t("To"), statuses: t("Which events") }} />
      {count && <CountCard {...count} />}
      <SendAgainForm path={path} webhook={webhook} time={time} values={values} errors={errors} />
    </>
  );
  return showPage(c, { title: t("Send events again"), site, back: `${path}/send-again`, body, filled });
}

/** The counted events to send again, with the form that sends them. */
function CountCard(props: { path: string; wanted: WantedEvents; sentEvents: SentEvents }) {
  const { path, wanted, sentEvents } = props;
  const view = useView();
  const { t } = view;
  const { count, until, nextAfterSeq } = sentEvents;
  const { status, since, afterSeq } = wanted;
  const number = new Intl.NumberFormat(view.language).format(count);
  const isCut = nextAfterSeq !== null;
  const one = count === 1 ? t("1 event matches: send it again?") : t("{0} events match: send them again?", number);
  const some = isCut ? t("{0} events or more match: send them again?", number) : one;
  const isNone = count === 0 && !isCut;
  return (
    <section class="card matching" aria-label={t("What matches")}>
      <div>
        {" "}
        <p>
          <strong>{isNone ? t("No event matches.") : some}</strong>
        </p>
        <p class="hint">
          {status.map((each) => statusText(view, each)).join(t(", "))}
          {" · "}
          {since === undefined ? t("up to {0}", view.time(until)) : t("{0} to {1}", view.time(since), view.time(until))}
          {afterSeq !== undefined && ` · ${t("after event {0}", afterSeq)}`}
        </p>
      </div>{" "}
      {!isNone && (
        <FieldsForm
          action={`${path}/send-again`}
          hidden={sendAgainValues(status, since, until, afterSeq)}
          fields={{}}
          button={isCut || count === 1 ? t("Send again") : t("Send {0} events again", number)}
        />
      )}
    </section>
  );
}

/** The form that chooses the events to send again. Sending this form only counts them. */
function SendAgainForm(props: {
  path: string;
  webhook: Webhook;
  time: ChosenTime;
  values: Record<string, string>;
  errors: Record<string, string>;
}) {
  const { path, webhook, time, values, errors } = props;
  const view = useView();
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
  const sinceHint = t("When the event happened, in {0}. Left empty: all that is kept.", view.timeZone);
  const ownTimes = { since: ownTimeText(view, time, values.since), until: ownTimeText(view, time, values.until) };
  const fields = {
    since: { label: t("From"), type: "datetime-local", hint: sinceHint },
    until: { label: t("To"), type: "datetime-local", hint: t("This minute too. Left empty: until now.") },
  };
  const times = TIMES.filter((each) => each !== "failing" || failingSince !== null);
  return (
    <section class="card">
      <h2>{t("Which events")}</h2>
      <p class="hint">
        {t(
          "For a receiver that was down, or lost what it had: each event that matches is due within seconds, with eight attempts, and what its receiver answered before is cleared. Pings and erased events are never sent again.",
        )}
      </p>
      <form method="get" action={`${path}/send-again`} class="again">
        <Ticks
          legend={t("Time")}
          choice="time"
          ticks={times.map((each) => ({ name: each, label: labels[each], isTicked: each === time }))}
        >
          <div class="own">
            <FormFields fields={fields} filled={{ values: ownTimes, errors }} />
          </div>
        </Ticks>
        <Ticks
          id="statuses"
          legend={t("State")}
          ticks={REDELIVERED_STATUSES.map((status) => ({
            name: status,
            label: statusText(view, status),
            isTicked: status in values,
            hint: hints[status],
          }))}
          error={errors.statuses}
        />
        {values.after_seq && <input type="hidden" name="after_seq" value={values.after_seq} />}
        <button type="submit" class="plain">
          {t("Count")}
        </button>
      </form>
    </section>
  );
}

/** The text of a field of {@link SendAgainForm}. A time is in Unix seconds when it comes from a button, or from a form that was refused. */
function ownTimeText({ timeZone }: View, time: ChosenTime, text = ""): string {
  if (time !== "own") return "";
  return unixSecondsSchema.safeParse(wholeNumber(text)).success ? localTime(Number(text), timeZone) : text;
}

/** The address of the webhook's page after events were sent again. It holds the result. */
function sentLocation(c: PageContext, path: string, wanted: WantedEvents, sentEvents: SentEvents): Promise<string> {
  const { count, until, nextAfterSeq } = sentEvents;
  const text = [count, nextAfterSeq ?? "", wanted.since ?? "", until, ...wanted.status].join("~");
  return withResult(c, path, ["sent", text], { seconds: OFFERED_SECONDS });
}

/** The notice for an address of {@link sentLocation}, with a button that continues with the rest. */
export async function sentNotice(c: PageContext, path: string) {
  const { t, language } = c.var.view;
  const text = await resultIn(c, path, "sent");
  if (text === undefined) return null;
  const [count, next = "", since, until, ...status] = text.split("~");
  if (count === "0" && next === "") return <NoticeBox kind="note" title={t("No event matched, so none was sent.")} />;
  const number = new Intl.NumberFormat(language).format(Number(count));
  if (next === "") {
    const title = t("Events sent again: {0}. The deliveries below tell what comes of them.", number);
    return <NoticeBox kind="good" title={title} />;
  }
  return (
    <NoticeBox kind="note" title={t("Events sent again: {0}. There may be more.", number)}>
      <FieldsForm
        action={`${path}/send-again`}
        hidden={sendAgainValues(status, since, until, next)}
        fields={{}}
        button={t("Go on with the rest")}
      />
    </NoticeBox>
  );
}
