import { withParameter } from "../console-path.ts";
import type { PageContext } from "../env.ts";
import { ticketEnd, ticketFor } from "../forms/tickets.ts";

/**
 * The results that an address holds for the page after a form: the event that was sent `again`, how many were `sent`, and since when a
 * webhook that is `enabled` got nothing.
 */
type Result = "again" | "sent" | "enabled";

/** How long the page shows what comes of a form, and offers to go on. */
const SHOWN_SECONDS = 7_200;

/**
 * An address that shows a result, which has no dot in it, to this console session only.
 *
 * @param path the path of the webhook's page
 * @param back the address of the page that shows the result
 */
export async function withResult(c: PageContext, path: string, [name, text]: [Result, string], back = path) {
  const { session, now } = c.var.view;
  if (session === undefined) return back;
  const ticket = await ticketFor(session, [name, path, text], now, SHOWN_SECONDS);
  return withParameter(back, name, `${text}.${ticket}`);
}

/** The result that an address of {@link withResult} holds; undefined when it is not for this session, or over. */
export async function resultIn(c: PageContext, path: string, name: Result): Promise<string | undefined> {
  const { session, now } = c.var.view;
  const [, text = "", ticket = ""] = /^([^.]+)\.(.*)$/.exec(c.req.query(name) ?? "") ?? [];
  const end = session && (await ticketEnd(session, [name, path, text], ticket, now));
  return end === undefined ? undefined : text;
}

/** A path without the parameters that show the result of an earlier form. */
export const withoutResult = (path: string): string =>
  ["done", "again", "sent", "enabled"].reduce((now, name) => withParameter(now, name), path);

/** Whether a path has such a parameter. */
export const hasResult = (path: string): boolean => withParameter(path, "") !== withoutResult(path);

export const deliveryId = (seq: number) => `event-${seq}`;

/** The address of a page after an event was sent again: the page marks the event's row. */
export const againLocation = async (c: PageContext, path: string, back: string, seq: number): Promise<string> =>
  `${await withResult(c, path, ["again", String(seq)], back)}#${deliveryId(seq)}`;

/** The seq of the event that {@link againLocation} names; NaN without one. */
export const sentAgainSeq = async (c: PageContext, path: string): Promise<number> =>
  Number((await resultIn(c, path, "again")) ?? Number.NaN);
