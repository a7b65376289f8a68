import { withParameter } from "../console-path.ts";
import { hostCookie, readCookie, SHOWN_COOKIE } from "../cookies.ts";
import type { PageContext } from "../env.ts";
import type { View } from "../view.ts";
import { TICKET_SECONDS, ticketEnd, ticketFor } from "./tickets.ts";

/** The message of a schema in the reader's language. In zh.json, {0}, {1}, … stand in place of its numbers. */
export function ruleText(view: View, message: string): string {
  const numbers: string[] = [];
  const text = message.replace(/\d+/g, (number) => `{${numbers.push(number) - 1}}`);
  return view.t(text.charAt(0).toUpperCase() + text.slice(1), ...numbers);
}

/** The values of a form that is shown again, and their errors. Without errors, the form is a draft. */
export interface FilledForm {
  /** The path that the form was sent to; by default that of the request. */
  path?: string;
  values: Record<string, string>;
  errors: Record<string, string>;
}

/** The errors of a form by field, in the reader's language. */
export const errorTexts = (view: View, issues: { field: string; message: string }[]): Record<string, string> =>
  Object.fromEntries(issues.map(({ field, message }) => [field, ruleText(view, message)]));

export const isRefused = (form: Partial<FilledForm> | undefined): boolean => Object.keys(form?.errors ?? {}).length > 0;

/** The result of a form, which the page after the form shows. */
export type FormResult =
  | ("site" | "revoked" | "released" | "not_released" | "agent" | "agents" | "renamed" | "normal" | "disabled")
  | (
      | "site_renamed"
      | "site_opened"
      | "site_closed"
      | "first_chat_id"
      | "retention"
      | "events_off"
      | "events_off_before"
    )
  | ("saved" | "deleted" | "sent" | "event_gone" | "webhook_ending")
  | ("overlap_ended" | "overlap_over")
  | ("session_ended" | "session_ended_before" | "token_deleted" | "token_deleted_before" | "token_not_shown")
  | ("person_added" | "person_ended" | "person_ended_before" | "person_not_shown")
  | ("changed_meanwhile" | "not_known" | "rotated_before" | "revoked_before" | "draft");

/**
 * The address to redirect to after a form. It holds the result and a ticket: without the ticket, a forged link could show a false result.
 *
 * @param id    the id of the element that the page scrolls to
 * @param count how many things were done, for results that name a number
 */
export async function doneLocation(
  c: PageContext,
  path: string,
  formResult: FormResult,
  id?: string,
  count?: number,
): Promise<string> {
  const { session, now } = c.var.view;
  if (session === undefined) return path;
  const nonce = c.var.isolate.runtime.uuid().slice(0, 8);
  const doneText = count === undefined ? formResult : `${formResult}_${count}`;
  const ticket = await ticketFor(session, ["done", path.replace(/\?.*/, ""), doneText, nonce], now);
  return withParameter(path, "done", `${doneText}.${nonce}.${ticket}`) + (id === undefined ? "" : `#${id}`);
}

/** How many shown results the cookie remembers. It is more than one, because a reader may have several tabs. */
const SHOWN_KEPT = 8;

const shownBefore = (c: PageContext): string[] =>
  (readCookie(c.req.raw, SHOWN_COOKIE) ?? "").split(".").filter((nonce) => nonce !== "");

const rememberShown = (c: PageContext, nonces: string[]): void =>
  c.header("set-cookie", hostCookie(SHOWN_COOKIE, nonces.slice(-SHOWN_KEPT).join("."), TICKET_SECONDS), {
    append: true,
  });

/** Whether a result is shown for the first time. The answer stores it in a cookie as shown. */
function isNew(c: PageContext, nonce: string): boolean {
  const shown = shownBefore(c);
  if (shown.includes(nonce)) return false;
  rememberShown(c, [...shown, nonce]);
  return true;
}

/** Lets the result in an address be shown once more, because its form was sent again and the reader wants to see the result. */
export function showAgain(c: PageContext, location: string): void {
  const [, nonce] = /[?&]done=\w+\.(\w+)\./.exec(location) ?? [];
  const shown = shownBefore(c);
  if (nonce !== undefined && shown.includes(nonce))
    rememberShown(
      c,
      shown.filter((each) => each !== nonce),
    );
}

/** The notice on the page that {@link doneLocation} led to. It is shown once, and not again after a reload or Back. */
export async function doneNotice(c: PageContext): Promise<{ kind: "good" | "bad"; title: string } | undefined> {
  const { t, session, now, here } = c.var.view;
  const [, doneText = "", nonce = "", ticket = ""] = /^(\w+)\.(\w+)\.(.*)$/.exec(c.req.query("done") ?? "") ?? [];
  const [, resultName = "", count] = /^(\w+?)(?:_(\d+))?$/.exec(doneText) ?? [];
  const good: Partial<Record<FormResult, string>> = {
    site: t("The site was created."),
    revoked: t("The app was revoked."),
    released: t("The appid was released."),
    agent: t("The agent was added."),
    agents: t("{0} agents were added.", count),
    renamed: t("The agent was renamed."),
    normal: t("The agent was enabled."),
    disabled: t("The agent was disabled."),
    site_renamed: t("The site was renamed."),
    site_opened: t("The site was opened."),
    site_closed: t("The site was closed."),
    first_chat_id: t("The next chat_id was set."),
    events_off: t("The events of this site were turned off."),
    retention: t("How long sessions are kept was changed."),
    saved: t("Saved."),
    deleted: t("Deleted."),
    overlap_ended: t("The old secret has stopped."),
    session_ended: t("The session was ended: its browser is asked to sign in again."),
    token_deleted: t("The token was deleted: it opens nothing any more."),
    person_added: t("They may come in."),
    person_ended: t("Their access has ended, and they are signed out."),
    sent: t("It is on its way: the deliveries below tell what comes of it."),
  };
  const bad: Partial<Record<FormResult, string>> = {
    not_known: t(
      "This form was sent before, and it is not known what came of it. It is never done twice; look here whether it was done.",
    ),
    events_off_before: t("The events had been turned off before. Nothing was changed now."),
    changed_meanwhile: t("Somebody else changed it meanwhile. Nothing was changed now: look at it once more."),
    session_ended_before: t("The session had ended before. Nothing was changed now."),
    token_deleted_before: t("The token had been deleted before. Nothing was changed now."),
    token_not_shown: t(
      "The token was made, and is not shown a second time. If it was not kept, delete it and make another.",
    ),
    person_ended_before: t("Their access had ended before. Nothing was changed now."),
    person_not_shown: t(
      "They were let in, and the token is not shown a second time. If it was not kept, end this access and let them in again.",
    ),
    rotated_before: t("The secret was rotated since this form was shown. Nothing was changed now."),
    overlap_over: t("The overlap is over by now, so the secret in use goes on. Nothing was changed."),
    revoked_before: t("The app is revoked."),
    not_released: t(
      "The appid was not released: somebody asked for it at this moment. Look whether it has an app now.",
    ),
    event_gone: t("Nothing was sent: the event is not kept any more."),
    webhook_ending: t("What was pending when it was disabled is still being ended. Try again in a few minutes."),
    draft: t("Nothing was changed: press it again."),
  };
  const purpose = ["done", here.replace(/\?.*/, ""), doneText, nonce];
  if (session === undefined || (await ticketEnd(session, purpose, ticket, now)) === undefined) return undefined;
  if (!isNew(c, nonce)) return undefined;
  const result = resultName as FormResult;
  return { kind: result in good ? "good" : "bad", title: good[result] ?? bad[result] ?? "" };
}
