import type { RestoredHome } from "../../services/settle-restored-home.ts";
import type { PageContext } from "./env.ts";
import { ticketEnd, ticketFor } from "./tickets.ts";

/** What was done to a restored home, as the address of its page holds it. The apps to look at are read anew. */
export type Settled = Omit<RestoredHome, "apps" | "homesDown">;

/** Longer than an operator waits before he opens the home. */
const SHOWN_SECONDS = 7_200;

const purposeOf = (home: string, numbers: string) => ["settled", home, numbers];

/** The address of the page that shows what was done, to this console session only. */
export async function settledLocation(
  c: PageContext,
  home: string,
  { sites, liftedBy, reopenAfter }: Settled,
): Promise<string> {
  const { session, now } = c.var.view;
  const path = `/console/homes/${home}/restored`;
  if (session === undefined) return path;
  const numbers = [sites, liftedBy, reopenAfter].join("-");
  return `${path}?settled=${numbers}.${await ticketFor(session, purposeOf(home, numbers), now, SHOWN_SECONDS)}`;
}

/** What {@link settledLocation} put into the address; undefined for an address that it did not make. */
export async function settledOf(c: PageContext, home: string): Promise<Settled | undefined> {
  const { session, now } = c.var.view;
  const [, numbers = "", ticket = ""] = /^([\d-]+)\.(.*)$/.exec(c.req.query("settled") ?? "") ?? [];
  if (session === undefined || (await ticketEnd(session, purposeOf(home, numbers), ticket, now)) === undefined) {
    return undefined;
  }
  const [sites = 0, liftedBy = 0, reopenAfter = 0] = numbers.split("-").map(Number);
  return { sites, liftedBy, reopenAfter };
}
