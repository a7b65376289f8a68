import { isRefusedFor } from "../../../core/errors.ts";
import { refusalOf } from "../../../core/http/faults.ts";
import {
  REDELIVERED_STATUSES,
  type RedeliveredStatus,
  redeliverEvents,
  redeliveringSchema,
} from "../../services/events.ts";
import { unixSecondsSchema } from "../../services/page.ts";
import type { Site } from "../../services/sites.ts";
import type { Webhook, WebhookOf } from "../../services/webhooks.ts";
import type { PageContext } from "../env.ts";
import { type EnteredFields, formAction } from "../forms/form-action.ts";
import type { FilledForm } from "../forms/messages.ts";
import { readForm, wholeNumber } from "../forms/read-form.ts";
import { showPage } from "../layout.tsx";
import { type Fields, FieldsForm, FormErrors, FormFields, Hidden } from "../parts/form.tsx";
import { NoticeBox } from "../parts/parts.tsx";
import { statusText } from "../sessions/session-table.tsx";
import { localTime, secondsOf, useView, type View } from "../view.ts";
import { resultIn, withResult } from "./result-address.ts";
import { UpLink, webhookOf } from "./webhook-of.tsx";

/** How many steps of the service one press of a button makes. A step has up to 5,000 events. */
const MOST_STEPS = 4;

/** The events to send again. */
type WantedEvents = Omit<Parameters<typeof redeliverEvents>[1], keyof WebhookOf> & { status: RedeliveredStatus[] };

type Values = Record<string, string>;

/** The values of a form that sends events again: two times, a field for each ticked status, and the seq to continue after. */
const valuesOf = (
  status: readonly string[],
  since: string | number = "",
  until: string | number = "",
  afterSeq: string | number = "",
): Values => ({
  since: String(since),
  until: String(until),
  ...(afterSeq !== "" && { after_seq: String(afterSeq) }),
  ...Object.fromEntries(status.map((each) => [each, "on"])),
});

/** Reads a form that sends events again, as `formAction` needs it. */
function readWanted({ t, timeZone }: View, form: Values) {
  const { since = "", until = "", after_seq = "" } = form;
  const status = REDELIVERED_STATUSES.filter((each) => form[each] !== undefined);
  // A text that is no time stays a text, which the schema refuses by the field's name.
  const timeOf = (text: string, isEnd: boolean) => {
    const number = wholeNumber(text);
    return typeof number === "string" ? (secondsOf(text, timeZone, isEnd) ?? text) : number;
  };
  const times = { since: timeOf(since, false), until: timeOf(until, true) };
  const checked = redeliveringSchema.safeParse({ ...times, after_seq: wholeNumber(after_seq), status });
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
  return { values: valuesOf(status, since, until, after_seq), entered };
}

/** The service's refusals of a form whose single fields are right. Undefined for any other error. */
function refusedFields({ t }: View, error: unknown): Values | undefined {
  if (!isRefusedFor(error, "fields_invalid")) return undefined;
  const [issue] = error.context.issues ?? [];
  if (issue?.field === "status") return { since: t("Missed events need a time to begin with.") };
  return issue?.field === "since" ? { since: t("Must not be after “To”.") } : undefined;
}

/**
 * Sends events again, or counts them, in up to {@link MOST_STEPS} steps. An error after the first step ends the work. The result then
 * has the events of the finished steps, and the reader can continue with the rest.
 */
async function runSteps(c: PageContext, webhookOfPath: WebhookOf, wanted: WantedEvents, dryRun: boolean) {
  const { ctx, trace } = c.var;
  const { until = ctx.now, afterSeq = null } = wanted;
  let [count, nextAfterSeq] = [0, afterSeq];
  for (let step = 0; step < MOST_STEPS && (step === 0 || nextAfterSeq !== null); step++) {
    const input = { ...webhookOfPath, ...wanted, until, afterSeq: nextAfterSeq ?? undefined, dryRun };
    try {
      const stepResult = await redeliverEvents(ctx, input);
      count += dryRun ? stepResult.matched : stepResult.queued;
      nextAfterSeq = stepResult.nextAfterSeq;
    } catch (error) {
      if (step === 0) throw error;
      refusalOf(error as Error, trace);
      break;
    }
  }
  return { count, until, nextAfterSeq };
}

export async function postSendAgain(c: PageContext, site: Site): Promise<Response> {
  const { webhookOfPath, path } = await webhookOf(c, site);
  const { view } = c.var;
  const form = await readForm(c);
  return formAction(c, form, {
    ...readWanted(view, form),
    page: (filledForm) => sendAgainPage(c, site, filledForm),
    list: path,
    refused: (error) => refusedFields(view, error),
    work: async (wanted) => {
      try {
        const { count, until, nextAfterSeq } = await runSteps(c, webhookOfPath, wanted, false);
        const rest = valuesOf(wanted.status, wanted.since, until, nextAfterSeq ?? undefined);
        const text = `${count}~${new URLSearchParams(rest)}`;
        return await withResult(c, path, ["sent", text]);
      } catch (error) {
        // The webhook's page says that the webhook is disabled, and why.
        if (isRefusedFor(error, "webhook_disabled")) return path;
        throw error;
      }
    },
  });
}

/** The notice on the webhook's page after events were sent again, with a button that continues with the rest. */
export async function sentNotice(c: PageContext, path: string) {
  const { t, language } = c.var.view;
  const [count, rest] = (await resultIn(c, path, "sent"))?.split("~") ?? [];
  if (count === undefined) return null;
  const values = Object.fromEntries(new URLSearchParams(rest));
  const number = new Intl.NumberFormat(language).format(Number(count));
  if (values.after_seq !== undefined)
    return (
      <NoticeBox kind="note" title={t("Events sent again: {0}. There may be more.", number)}>
        <FieldsForm action={`${path}/send-again`} hidden={values} fields={{}} button={t("Go on with the rest")} />
      </NoticeBox>
    );
  if (count === "0") return <NoticeBox kind="note" title={t("No event matched, so none was sent.")} />;
  const title = t("Events sent again: {0}. The deliveries below tell what comes of them.", number);
  return <NoticeBox kind="good" title={title} />;
}

/**
 * The time that an address or a form asks for, and the values of the form that sends: the time in Unix seconds, or as it was typed. At
 * first, it is what the receiver does not have of the last hour.
 */
function askedIn(query: Values, now: number, { failingSince }: Webhook): { time: string; values: Values } {
  const starts = new Map([
    ["hour", now - 3_600],
    ["day", now - 86_400],
    ["failing", failingSince ?? now - 86_400],
  ]);
  const isOwn = ["since", "until", ...REDELIVERED_STATUSES].some((name) => query[name] !== undefined);
  const { time = isOwn ? "own" : "hour" } = query;
  const since = starts.get(time);
  if (since === undefined) return { time: "own", values: query };
  const ticked = query.time === undefined ? { failed: "on", pending: "on", missed: "on" } : {};
  const values = { ...query, ...ticked, since: String(since), until: String(now) };
  return { time: time === "failing" && failingSince === null ? "day" : time, values };
}

function fieldsOf(view: View, { failingSince }: Webhook): Fields {
  const { t } = view;
  const hints: Record<RedeliveredStatus, string> = {
    failed: t("all eight attempts failed, or the webhook was disabled"),
    pending: t("due at once, with eight attempts again"),
    missed: t("of a type that it wants, and never meant for it: it was disabled, or not there yet"),
    delivered: t("the receiver gets them a second time, under the same webhook-id"),
  };
  const statuses = REDELIVERED_STATUSES.map((status) => {
    return [status, { label: statusText(view, status), type: "checkbox", hint: hints[status] }] as const;
  });
  const times: [string, string][] = [
    ["hour", t("The last hour")],
    ["day", t("The last 24 hours")],
    ["failing", t("Since it began to fail: {0}", view.time(failingSince ?? 0))],
    ["own", t("Times of your own")],
  ];
  const sinceHint = t("When the event happened, in {0}. Left empty: all that is kept.", view.timeZone);
  const untilHint = t("This minute too. Left empty: until now.");
  return {
    time: { label: t("Time"), options: times.filter(([name]) => name !== "failing" || failingSince !== null) },
    since: { label: t("From"), type: "datetime-local", hint: sinceHint },
    until: { label: t("To"), type: "datetime-local", hint: untilHint },
    statuses: { label: t("Which events"), fields: Object.fromEntries(statuses) },
  };
}

/**
 * Asks which events to send again, and counts them before they are sent. The address says what to count. By default, it is all events
 * that the receiver missed in the last hour.
 *
 * @param filledForm the form to send, when a sent form was not carried out
 */
export async function sendAgainPage(c: PageContext, siteOfPath: Site, filledForm?: FilledForm): Promise<Response> {
  const { view, t } = c.var;
  const { webhook, webhookOfPath, site, path, name } = await webhookOf(c, siteOfPath);
  if (webhook.status === "disabled") return c.redirect(path, 303);
  const asked = askedIn(filledForm?.values ?? c.req.query(), view.now, webhook);
  const { values, entered } = readWanted(view, asked.values);
  let errors = filledForm?.errors ?? ("errors" in entered ? entered.errors : {});
  let count: Parameters<typeof CountCard>[0] | undefined;
  if ("input" in entered && Object.keys(errors).length === 0) {
    const { input: wanted } = entered;
    try {
      count = { path, wanted, counted: await runSteps(c, webhookOfPath, wanted, true) };
    } catch (error) {
      if (isRefusedFor(error, "webhook_disabled")) return c.redirect(path, 303);
      const refused = refusedFields(view, error);
      if (refused === undefined) throw error;
      errors = refused;
    }
  }
  const filled = filledForm ?? (Object.keys(errors).length > 0 ? { values, errors } : undefined);
  const fields = fieldsOf(view, webhook);
  // A time is in Unix seconds when it comes from a button, or from a form that was not carried out.
  const ownTime = (text = "") => {
    if (asked.time !== "own") return "";
    return unixSecondsSchema.safeParse(wholeNumber(text)).success ? localTime(Number(text), view.timeZone) : text;
  };
  const shown = { ...values, time: asked.time, since: ownTime(values.since), until: ownTime(values.until) };
  const body = (
    <>
      <UpLink path={path} name={name} />
      <FormErrors filled={filled} fields={fields} />
      {count && <CountCard {...count} />}
      <section class="card">
        <p class="hint">
          {t(
            "For a receiver that was down, or lost what it had: each event that matches is due within seconds, with eight attempts, and what its receiver answered before is cleared. Pings and erased events are never sent again.",
          )}
        </p>
        <form method="get" action={`${path}/send-again`} class="again">
          <FormFields fields={fields} filled={{ values: shown, errors }} />
          <Hidden values={values.after_seq === undefined ? {} : { after_seq: values.after_seq }} />
          <button type="submit" class="plain">
            {t("Count")}
          </button>
        </form>
      </section>
    </>
  );
  return showPage(c, { title: t("Send events again"), site, back: `${path}/send-again`, body, filled });
}

/** The counted events to send again, with the form that sends them. */
function CountCard(props: { path: string; wanted: WantedEvents; counted: Awaited<ReturnType<typeof runSteps>> }) {
  const view = useView();
  const { t } = view;
  const { count, until, nextAfterSeq } = props.counted;
  const { status, since, afterSeq } = props.wanted;
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
          action={`${props.path}/send-again`}
          hidden={valuesOf(status, since, until, afterSeq)}
          fields={{}}
          button={isCut || count === 1 ? t("Send again") : t("Send {0} events again", number)}
        />
      )}
    </section>
  );
}
