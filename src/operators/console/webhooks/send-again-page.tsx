import type { Child } from "hono/jsx";
import { isRefusedFor } from "../../../core/errors.ts";
import { refusalOf } from "../../../core/http/faults.ts";
import { REDELIVERED_STATUSES, redeliverEvents, redeliveringSchema } from "../../services/events.ts";
import { unixSecondsSchema } from "../../services/page.ts";
import type { Site } from "../../services/sites.ts";
import type { Webhook, WebhookOf } from "../../services/webhooks.ts";
import type { PageContext } from "../env.ts";
import { type EnteredFields, formAction, wholeNumber } from "../forms/form-action.ts";
import { type FilledForm, isRefused } from "../forms/messages.ts";
import { showPage } from "../layout.tsx";
import { type Fields, FieldsForm, FormErrors, FormFields, Hidden } from "../parts/form.tsx";
import { NoticeBox } from "../parts/parts.tsx";
import { statusText } from "../sessions/session-table.tsx";
import { localTime, secondsOf, useView, type View } from "../view.ts";
import { resultIn, UpLink, webhookOf, withResult } from "./webhook-of.tsx";

/** How many steps of the service one press of a button makes. A step has up to 5,000 events. */
const MOST_STEPS = 4;

/** The events to send again. */
type WantedEvents = Omit<Parameters<typeof redeliverEvents>[1], keyof WebhookOf> & {
  status: (typeof REDELIVERED_STATUSES)[number][];
};

type Values = Record<string, string>;
type Value = string | number | null | undefined;

/** The values of a form that sends events again: two times, a field for each ticked status, and the seq to continue after. */
const valuesOf = (status: readonly string[], since: Value, until: Value, afterSeq: Value): Values => ({
  since: String(since ?? ""),
  until: String(until ?? ""),
  ...((afterSeq ?? "") !== "" && { after_seq: String(afterSeq) }),
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

/** The service's refusals of a form whose single fields are right. @throws any other error */
function refusedFields({ t }: View, error: unknown): Values {
  if (!isRefusedFor(error, "fields_invalid")) throw error;
  const isOpen = error.context.issues?.[0]?.field === "status";
  return { since: isOpen ? t("Missed events need a time to begin with.") : t("Must not be after “To”.") };
}

/**
 * Sends events again, or counts them, in up to {@link MOST_STEPS} steps. An error after the first step ends the work, and the reader can
 * go on with the rest. The result is undefined when the webhook is disabled: the webhook's page then says so, and why.
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
      ({ nextAfterSeq } = stepResult);
    } catch (error) {
      if (step === 0 && isRefusedFor(error, "webhook_disabled")) return undefined;
      if (step === 0) throw error;
      refusalOf(error as Error, trace);
      break;
    }
  }
  return { ...wanted, count, until, nextAfterSeq };
}

export async function postSendAgain(c: PageContext, site: Site): Promise<Response> {
  const { webhookOfPath, path } = await webhookOf(c, site);
  const { view, form } = c.var;
  return formAction(c, {
    ...readWanted(view, form),
    page: (filledForm) => sendAgainPage(c, site, filledForm),
    list: path,
    refused: (error) => refusedFields(view, error),
    work: async (wanted) => {
      const sent = await runSteps(c, webhookOfPath, wanted, false);
      if (sent === undefined) return path;
      const rest = valuesOf(sent.status, sent.since, sent.until, sent.nextAfterSeq);
      return withResult(c, path, ["sent", `${sent.count}~${new URLSearchParams(rest)}`]);
    },
  });
}

/** The notice on the webhook's page after events were sent again, with a button that continues with the rest. */
export async function sentNotice(c: PageContext, path: string) {
  const { t, number } = c.var.view;
  const [count, rest] = (await resultIn(c, path, "sent"))?.split("~") ?? [];
  if (count === undefined) return null;
  const values = Object.fromEntries(new URLSearchParams(rest));
  if (values.after_seq !== undefined)
    return (
      <NoticeBox kind="note" title={t("Events sent again: {0}. There may be more.", number(Number(count)))}>
        <FieldsForm action={`${path}/send-again`} hidden={values} fields={{}} button={t("Go on with the rest")} />
      </NoticeBox>
    );
  if (count === "0") return <NoticeBox kind="note" title={t("No event matched, so none was sent.")} />;
  const title = t("Events sent again: {0}. The deliveries below tell what comes of them.", number(Number(count)));
  return <NoticeBox kind="good" title={title} />;
}

/**
 * The time that an address or a form asks for, and the values of the form that sends: the time in Unix seconds, or as it was typed. At
 * first, it is what the receiver does not have of the last hour.
 */
function askedIn(query: Values, now: number, { failingSince }: Webhook): { time: string; values: Values } {
  const day = now - 86_400;
  const starts = new Map(Object.entries({ hour: now - 3_600, day, failing: failingSince ?? day }));
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
  const sinceHint = t("When the event happened, in {0}. Left empty: all that is kept.", view.timeZone);
  const untilHint = t("This minute too. Left empty: until now.");
  const times: [string, string][] = [
    ["hour", t("The last hour")],
    ["day", t("The last 24 hours")],
    ["failing", t("Since it began to fail: {0}", view.time(failingSince ?? 0))],
    ["own", t("Times of your own")],
  ];
  const box = (name: string, hint: string) => ({ [name]: { label: statusText(view, name), type: "checkbox", hint } });
  const statuses = {
    ...box("failed", t("all eight attempts failed, or the webhook was disabled")),
    ...box("pending", t("due at once, with eight attempts again")),
    ...box("missed", t("of a type that it wants, and never meant for it: it was disabled, or not there yet")),
    ...box("delivered", t("the receiver gets them a second time, under the same webhook-id")),
  };
  return {
    time: { label: t("Time"), options: times.filter(([name]) => name !== "failing" || failingSince !== null) },
    since: { label: t("From"), type: "datetime-local", hint: sinceHint },
    until: { label: t("To"), type: "datetime-local", hint: untilHint },
    statuses: { label: t("Which events"), fields: statuses },
  };
}

/**
 * Asks which events to send again, and counts them before they are sent: those that the address names, or `filledForm`, which was not
 * carried out. By default, it is all that the receiver missed in the last hour.
 */
export async function sendAgainPage(c: PageContext, siteOfPath: Site, filledForm?: FilledForm): Promise<Response> {
  const { view, t } = c.var;
  const { webhook, webhookOfPath, site, path, name } = await webhookOf(c, siteOfPath);
  if (webhook.status === "disabled") return c.redirect(path, 303);
  const asked = askedIn(filledForm?.values ?? c.req.query(), view.now, webhook);
  const { values, entered } = readWanted(view, asked.values);
  const filled = { values, errors: filledForm?.errors ?? ("errors" in entered ? entered.errors : {}) };
  let matching: Child;
  if ("input" in entered && !isRefused(filled)) {
    try {
      const counted = await runSteps(c, webhookOfPath, entered.input, true);
      if (counted === undefined) return c.redirect(path, 303);
      matching = <CountCard path={path} {...counted} />;
    } catch (error) {
      filled.errors = refusedFields(view, error);
    }
  }
  const fields = fieldsOf(view, webhook);
  const shownForm = filledForm ?? (isRefused(filled) ? filled : undefined);
  // A time is in Unix seconds when it comes from a button, or from a form that was not carried out.
  const ownTime = (text = "") => {
    if (asked.time !== "own") return "";
    return unixSecondsSchema.safeParse(wholeNumber(text)).success ? localTime(Number(text), view.timeZone) : text;
  };
  const shown = { ...values, time: asked.time, since: ownTime(values.since), until: ownTime(values.until) };
  const body = (
    <>
      <UpLink path={path} name={name} />
      <FormErrors filled={shownForm} fields={fields} />
      {matching}
      <section class="card">
        <p class="hint">
          {t(
            "For a receiver that was down, or lost what it had: each event that matches is due within seconds, with eight attempts, and what its receiver answered before is cleared. Pings and erased events are never sent again.",
          )}
        </p>
        <form method="get" action={`${path}/send-again`} class="again">
          <FormFields fields={fields} filled={{ ...filled, values: shown }} />
          {values.after_seq !== undefined && <Hidden values={{ after_seq: values.after_seq }} />}
          <button type="submit" class="plain">
            {t("Count")}
          </button>
        </form>
      </section>
    </>
  );
  return showPage(c, { title: t("Send events again"), site, body, filled: shownForm });
}

/** The counted events to send again, with the form that sends them. */
function CountCard(props: NonNullable<Awaited<ReturnType<typeof runSteps>>> & { path: string }) {
  const view = useView();
  const { t, time } = view;
  const { path, status, since, until, afterSeq, count, nextAfterSeq } = props;
  const number = view.number(count);
  const isCut = nextAfterSeq !== null;
  const one = count === 1 ? t("1 event matches: send it again?") : t("{0} events match: send them again?", number);
  const some = isCut ? t("{0} events or more match: send them again?", number) : one;
  const isNone = count === 0 && !isCut;
  return (
    <section class="card matching" aria-label={t("What matches")}>
      <div>
        <p>
          <strong>{isNone ? t("No event matches.") : some}</strong>
        </p>
        <p class="hint">
          {status.map((each) => statusText(view, each)).join(t(", "))}
          {" · "}
          {since === undefined ? t("up to {0}", time(until)) : t("{0} to {1}", time(since), time(until))}
          {afterSeq !== undefined && ` · ${t("after event {0}", afterSeq)}`}
        </p>
      </div>{" "}
      {!isNone && (
        <FieldsForm
          action={`${path}/send-again`}
          hidden={valuesOf(status, since, until, afterSeq)}
          fields={{}}
          button={isCut || count === 1 ? t("Send again") : t("Send {0} events again", number)}
        />
      )}
    </section>
  );
}
