import { withParameter } from "../console-path.ts";
import type { PageContext } from "../env.ts";
import { ticketEnd, ticketFor } from "../forms/tickets.ts";

/** The delivery that was just sent again: the page after it says so in the row of that delivery. */

/** The id of a delivery's row. */
export const deliveryId = (seq: number) => `event-${seq}`;

const purposeOf = (path: string, seq: string) => ["again", path, seq];

/**
 * The address of the page after an event was sent again. It holds a ticket, as the address after other forms does.
 *
 * @param path of the webhook's page
 * @param back the page that has the delivery
 */
export async function againLocation(c: PageContext, path: string, back: string, seq: number): Promise<string> {
  const { session, now } = c.var.view;
  if (session === undefined) return back;
  const ticket = await ticketFor(session, purposeOf(path, String(seq)), now);
  return `${withParameter(back, "again", `${seq}.${ticket}`)}#${deliveryId(seq)}`;
}

/** The seq of the event that {@link againLocation} names. */
export async function sentAgainSeq(c: PageContext, path: string): Promise<number | undefined> {
  const { session, now } = c.var.view;
  const [, seq = "", ticket = ""] = /^(\d+)\.(.*)$/.exec(c.req.query("again") ?? "") ?? [];
  if (session === undefined || (await ticketEnd(session, purposeOf(path, seq), ticket, now)) === undefined)
    return undefined;
  return Number(seq);
}

/** A path without what tells the result of an earlier form. */
export const withoutResult = (path: string): string =>
  ["done", "again", "sent", "enabled"].reduce((now, name) => withParameter(now, name), path);
