import type { ConsoleSession } from "../../services/console-sessions.ts";
import { isMac, macOf } from "../../services/digests.ts";
import { withParameter } from "../console-path.ts";
import { hostCookie, readCookie, SHOWN_COOKIE } from "../cookies.ts";
import type { PageContext } from "../env.ts";
import type { View } from "../view.ts";

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

/** The results of forms that did something, as the page after the form says them. zh.json has the Chinese. */
export const DONE = {
  site: "The site was created.",
  revoked: "The app was revoked.",
  released: "The appid was released.",
  agent: "The agent was added.",
  agents: "{0} agents were added.",
  renamed: "The agent was renamed.",
  normal: "The agent was enabled.",
  disabled: "The agent was disabled.",
  site_renamed: "The site was renamed.",
  site_opened: "The site was opened.",
  site_closed: "The site was closed.",
  first_chat_id: "The next chat_id was set.",
  events_off: "The events of this site were turned off.",
  retention: "How long sessions are kept was changed.",
  saved: "Saved.",
  deleted: "Deleted.",
  overlap_ended: "The old secret has stopped.",
  session_ended: "The session was ended: its browser is asked to sign in again.",
  token_deleted: "The token was deleted: it opens nothing any more.",
  person_added: "They may come in.",
  person_ended: "Their access has ended, and they are signed out.",
  sent: "It is on its way: the deliveries below tell what comes of it.",
} as const;

/** The results of forms that did nothing now, or of which it is not known. */
export const NOT_DONE = {
  not_known:
    "This form was sent before, and it is not known what came of it. It is never done twice; look here whether it was done.",
  events_off_before: "The events had been turned off before. Nothing was changed now.",
  changed_meanwhile: "Somebody else changed it meanwhile. Nothing was changed now: look at it once more.",
  session_ended_before: "The session had ended before. Nothing was changed now.",
  token_deleted_before: "The token had been deleted before. Nothing was changed now.",
  token_not_shown:
    "The token was made, and is not shown a second time. If it was not kept, delete it and make another.",
  person_ended_before: "Their access had ended before. Nothing was changed now.",
  person_not_shown:
    "They were let in, and the token is not shown a second time. If it was not kept, end this access and let them in again.",
  rotated_before: "The secret was rotated since this form was shown. Nothing was changed now.",
  overlap_over: "The overlap is over by now, so the secret in use goes on. Nothing was changed.",
  revoked_before: "The app is revoked.",
  not_released: "The appid was not released: somebody asked for it at this moment. Look whether it has an app now.",
  event_gone: "Nothing was sent: the event is not kept any more.",
  drilled_before: "Nothing was posted: it was drilled less than a minute ago. Wait a minute, and drill it again.",
  not_postable: "Nothing was posted: events cannot be posted to this URL. Change it first.",
  webhook_ending: "What was pending when it was disabled is still being ended. Try again in a few minutes.",
  draft: "Nothing was changed: press it again.",
} as const;

export type FormResult = keyof typeof DONE | keyof typeof NOT_DONE;

/**
 * The address to redirect to after a form. It holds the result and a ticket: without the ticket, a forged link could show a false result.
 *
 * @param id    the id of the element that the page scrolls to
 * @param count how many things were done, for results that name a number
 */
export async function doneLocation(c: PageContext, path: string, formResult: FormResult, id?: string, count?: number) {
  const { session, now } = c.var.view;
  if (session === undefined) return path;
  const nonce = c.var.isolate.runtime.uuid().slice(0, 8);
  const doneText = count === undefined ? formResult : `${formResult}_${count}`;
  const ticket = await ticketFor(session, ["done", path.replace(/\?.*/, ""), doneText, nonce], now);
  return withParameter(path, "done", `${doneText}.${nonce}.${ticket}`) + (id === undefined ? "" : `#${id}`);
}

/** How many shown results the cookie remembers. It is more than one, because a reader may have several tabs. */
const SHOWN_KEPT = 8;

const shownBefore = (c: PageContext) => (readCookie(c.req.raw, SHOWN_COOKIE) ?? "").split(".").filter(Boolean);

function rememberShown(c: PageContext, nonces: string[]): void {
  const cookie = hostCookie(SHOWN_COOKIE, nonces.slice(-SHOWN_KEPT).join("."), TICKET_SECONDS);
  c.header("set-cookie", cookie, { append: true });
}

/** Lets the result in an address be shown once more, because its form was sent again and the reader wants to see the result. */
export function showAgain(c: PageContext, location: string): void {
  const [, nonce = ""] = /[?&]done=\w+\.(\w+)\./.exec(location) ?? [];
  const shown = shownBefore(c);
  const others = shown.filter((each) => each !== nonce);
  if (others.length < shown.length) rememberShown(c, others);
}

/** The notice on the page that {@link doneLocation} led to. It is shown once, and not again after a reload or Back. */
export async function doneNotice(c: PageContext): Promise<{ kind: "good" | "bad"; title: string } | undefined> {
  const { t, session, now, here } = c.var.view;
  const [, doneText = "", nonce = "", ticket = ""] = /^(\w+)\.(\w+)\.(.*)$/.exec(c.req.query("done") ?? "") ?? [];
  const [, resultName = "", count] = /^(\w+?)(?:_(\d+))?$/.exec(doneText) ?? [];
  const purpose = ["done", here.replace(/\?.*/, ""), doneText, nonce];
  if (session === undefined || (await ticketEnd(session, purpose, ticket, now)) === undefined) return undefined;
  const shown = shownBefore(c);
  if (shown.includes(nonce)) return undefined;
  rememberShown(c, [...shown, nonce]);
  const results: Record<string, string> = { ...DONE, ...NOT_DONE };
  return { kind: resultName in DONE ? "good" : "bad", title: t(results[resultName] ?? "", count) };
}

/** How long a ticket is valid by default. A page shows a new secret, or the result of a form, for this time. */
const TICKET_SECONDS = 600;

/** Whether a form was made for this session. */
export async function isFormToken({ id, key }: ConsoleSession, token: string): Promise<boolean> {
  const [nonce, mac] = token.split(".");
  return nonce !== undefined && mac !== undefined && isMac(key, ["form", id, nonce], mac);
}

/** A proof that the console itself redirected this session to an address. It is for one purpose, ends at a time, and holds no secret. */
export async function ticketFor({ id, key }: ConsoleSession, purpose: string[], now: number, seconds = TICKET_SECONDS) {
  const expiresAt = String(now + seconds);
  return `${expiresAt}.${await macOf(key, ["ticket", id, expiresAt, ...purpose])}`;
}

/** The end of a ticket in Unix seconds; undefined when the ticket is not valid now. */
export async function ticketEnd({ id, key }: ConsoleSession, purpose: string[], ticket: string, now: number) {
  const [expiresAt = "", mac = ""] = ticket.split(".");
  if (!(Number(expiresAt) > now)) return undefined;
  return (await isMac(key, ["ticket", id, expiresAt, ...purpose], mac)) ? Number(expiresAt) : undefined;
}
