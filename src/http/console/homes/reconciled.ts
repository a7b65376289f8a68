import type { ReconciledHome } from "../../../services/homes.ts";
import type { PageContext } from "../env.ts";
import { ticketEnd, ticketFor } from "../forms/tickets.ts";

/** What was done to a restored home, as the address of its page holds it. The apps to look at are read anew. */
export type Settled = ReconciledHome;

/** Longer than an operator waits before he opens the home. */
const SHOWN_SECONDS = 7_200;

const purposeOf = (home: string, told: string) => ["settled", home, told];

/** The address of the page that shows what was done, to this console session only. */
export async function settledLocation(
  c: PageContext,
  home: string,
  { sites, skippedBy, reopenAfter, reconciliationId, homesDown }: Settled,
): Promise<string> {
  const { session, now } = c.var.view;
  const path = `/console/homes/${home}/restored`;
  if (session === undefined) return path;
  const told = [sites, skippedBy, reopenAfter, reconciliationId, homesDown.join(",")].join("~");
  return `${path}?settled=${told}.${await ticketFor(session, purposeOf(home, told), now, SHOWN_SECONDS)}`;
}

/** What {@link settledLocation} put into the address; undefined for an address that it did not make. */
export async function settledOf(c: PageContext, home: string): Promise<Settled | undefined> {
  const { session, now } = c.var.view;
  const [, told = "", ticket = ""] = /^([^.]+)\.(.*)$/.exec(c.req.query("settled") ?? "") ?? [];
  if (session === undefined || (await ticketEnd(session, purposeOf(home, told), ticket, now)) === undefined) {
    return undefined;
  }
  const [sites, skippedBy, reopenAfter, reconciliationId = "", homes = ""] = told.split("~");
  const homesDown = homes === "" ? [] : homes.split(",");
  return {
    sites: Number(sites),
    skippedBy: Number(skippedBy),
    reopenAfter: Number(reopenAfter),
    reconciliationId,
    homesDown,
  };
}
