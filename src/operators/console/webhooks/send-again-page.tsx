import { isRefusedFor } from "../../../core/errors.ts";
import type { RedeliveredStatus } from "../../services/events.ts";
import type { Site } from "../../services/sites.ts";
import type { PageContext } from "../env.ts";
import { formAction } from "../forms/form-action.ts";
import type { FilledForm } from "../forms/messages.ts";
import { readForm } from "../forms/read-form.ts";
import { showPage } from "../layout.tsx";
import { Form, FormErrors } from "../parts/form.tsx";
import { statusText } from "../sessions/session-table.tsx";
import type { View } from "../view.ts";
import {
  refusedAgain,
  runSteps,
  type SentEvents,
  sendAgainValues,
  sentAgain,
  type WantedEvents,
} from "./send-again.ts";
import { askedTime, fieldsOf, SendAgainForm } from "./send-again-form.tsx";
import { sentLocation } from "./sent-notice.tsx";
import { UpLink } from "./up-link.tsx";
import { hostOf, webhookOf } from "./webhook-of.tsx";

/** The counted events to send again, with the form that sends them. */
interface CountedEvents {
  wanted: WantedEvents;
  sent: SentEvents;
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
  let counted: CountedEvents | undefined;
  if ("input" in entered && Object.keys(errors).length === 0) {
    const { input: wanted } = entered;
    try {
      counted = { wanted, sent: await runSteps(c, webhookOfPath, wanted, true) };
    } catch (error) {
      if (isRefusedFor(error, "webhook_disabled")) return c.redirect(path, 303);
      const refused = refusedAgain(view, error);
      if (refused === undefined) throw error;
      errors = refused;
    }
  }
  const shown = filledForm ?? (Object.keys(errors).length > 0 ? { values, errors } : undefined);
  const body = (
    <>
      <UpLink href={path} name={hostOf(webhook)} />
      <FormErrors filled={shown} fields={{ since: t("From"), until: t("To"), statuses: t("Which events") }} />
      {counted && <CountCard view={view} path={path} counted={counted} />}
      <SendAgainForm view={view} path={path} webhook={webhook} time={time} values={values} errors={errors} />
    </>
  );
  const title = t("Send events again");
  return showPage(c, { title, site, back: `${path}/send-again`, body, filled: shown });
}

function CountCard({ view, path, counted: { wanted, sent } }: { view: View; path: string; counted: CountedEvents }) {
  const { t } = view;
  const { count, until, nextAfterSeq } = sent;
  const { status, since, afterSeq } = wanted;
  const number = new Intl.NumberFormat(view.language).format(count);
  const isCut = nextAfterSeq !== null;
  const hidden = sendAgainValues(
    status as RedeliveredStatus[],
    String(since ?? ""),
    String(until),
    String(afterSeq ?? ""),
  );
  return (
    <section class="card matching" aria-label={t("What matches")}>
      <div>
        {" "}
        <p>
          <strong>
            {count === 0 && !isCut
              ? t("No event matches.")
              : isCut
                ? t("{0} events or more match: send them again?", number)
                : count === 1
                  ? t("1 event matches: send it again?")
                  : t("{0} events match: send them again?", number)}
          </strong>
        </p>
        <p class="hint">
          {status.map((each) => statusText(view, each)).join(t(", "))}
          {" · "}
          {since === undefined ? t("up to {0}", view.time(until)) : t("{0} to {1}", view.time(since), view.time(until))}
          {afterSeq !== undefined && ` · ${t("after event {0}", afterSeq)}`}
        </p>
      </div>{" "}
      {(count > 0 || isCut) && (
        <Form action={`${path}/send-again`}>
          {Object.entries(hidden).map(([name, value]) => (
            <input type="hidden" name={name} value={value} />
          ))}
          <button type="submit">{isCut || count === 1 ? t("Send again") : t("Send {0} events again", number)}</button>
        </Form>
      )}
    </section>
  );
}
