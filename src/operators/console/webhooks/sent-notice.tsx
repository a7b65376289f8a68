import type { RedeliveredStatus } from "../../services/events.ts";
import { withParameter } from "../console-path.ts";
import type { PageContext } from "../env.ts";
import { ticketEnd, ticketFor } from "../forms/tickets.ts";
import { Form } from "../parts/form.tsx";
import { NoticeBox } from "../parts/parts.tsx";
import { type SentEvents, sendAgainValues, type WantedEvents } from "./send-again.ts";

/** The result of sending events again. */

/** How long the page after the form shows what was sent, and offers to continue with the rest. */
const SHOWN_SECONDS = 7_200;

const purposeOf = (path: string, resultText: string) => ["sent", path, resultText];

/** The address of the webhook's page after events were sent again. It shows the result to this console session only. */
export async function sentLocation(
  c: PageContext,
  path: string,
  wanted: WantedEvents,
  sentEvents: SentEvents,
): Promise<string> {
  const { session, now } = c.var.view;
  if (session === undefined) return path;
  const { count, until, nextAfterSeq } = sentEvents;
  const resultText = [count, nextAfterSeq ?? "", wanted.since ?? "", until, ...wanted.status].join("~");
  const ticket = await ticketFor(session, purposeOf(path, resultText), now, SHOWN_SECONDS);
  return withParameter(path, "sent", `${resultText}.${ticket}`);
}

/** The notice for an address of {@link sentLocation}, with a button that continues with the rest. */
export async function sentNotice(c: PageContext, path: string) {
  const { view } = c.var;
  const { t, session, now } = view;
  const [, resultText = "", ticket = ""] = /^([^.]+)\.(.*)$/.exec(c.req.query("sent") ?? "") ?? [];
  if (session === undefined || (await ticketEnd(session, purposeOf(path, resultText), ticket, now)) === undefined)
    return null;
  const [count = "", next = "", since, until, ...status] = resultText.split("~");
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
      <Form action={`${path}/send-again`}>
        {Object.entries(hidden).map(([name, value]) => (
          <input type="hidden" name={name} value={value} />
        ))}
        <button type="submit">{t("Go on with the rest")}</button>
      </Form>
    </NoticeBox>
  );
}
