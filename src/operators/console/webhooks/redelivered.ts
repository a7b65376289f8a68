import { withParameter } from "../console-path.ts";
import type { PageContext } from "../env.ts";
import { ticketEnd, ticketFor } from "../forms/tickets.ts";

/** The delivery that was just sent again. The next page marks its row. */

export const deliveryId = (seq: number) => `event-${seq}`;

const purposeOf = (path: string, seq: string) => ["again", path, seq];

/**
 * The address of the page after an event was sent again. It holds a ticket, as the addresses after other forms do.
 *
 * @param path the path of the webhook's page
 * @param back the address of the page that has the delivery
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

/** A path without the parameters that show the result of an earlier form. */
export const withoutResult = (path: string): string =>
  ["done", "again", "sent", "enabled"].reduce((now, name) => withParameter(now, name), path);
