import type { ReconciledHome } from "../../services/homes.ts";
import type { PageContext } from "../env.ts";
import { ticketEnd, ticketFor } from "../forms/tickets.ts";

/** The result of a reconciliation, as the address of its page holds it. The page reads the divergent apps, the tokens and the people anew. */
export type Reconciled = Omit<ReconciledHome, "tokens" | "people">;

export const DEFAULT_LIFT = "1000000";

export const pathOf = (home: string): string => `/console/homes/${home}/restored`;

/** The address of the page that asks before a home is reconciled. A form sent again from there continues the same reconciliation. */
export const confirmPath = (home: string, lift: string, reconciliationId: string): string =>
  `${pathOf(home)}?lift=${encodeURIComponent(lift)}&settling_id=${reconciliationId}`;

/** This is longer than the home must stay closed after its reconciliation, because the page says when to open the home. */
const SHOWN_SECONDS = 7_200;

const purposeOf = (home: string, resultText: string) => ["settled", home, resultText];

/** The address of the page that shows the result to this console session only. */
export async function reconciledLocation(c: PageContext, home: string, result: Reconciled): Promise<string> {
  const { session, now } = c.var.view;
  const path = pathOf(home);
  if (session === undefined) return path;
  const { reconciliationId, homesDown, sites, skippedBy, reopenAfter, erasures, sitesDeletedAgain } = result;
  const numbers = [sites, skippedBy, reopenAfter, erasures.done, erasures.left, sitesDeletedAgain];
  const resultText = [reconciliationId, homesDown.join(","), ...numbers].join("~");
  return `${path}?settled=${resultText}.${await ticketFor(session, purposeOf(home, resultText), now, SHOWN_SECONDS)}`;
}

/** The result in an address of {@link reconciledLocation}; undefined for any other address. */
export async function reconciledOf(c: PageContext, home: string): Promise<Reconciled | undefined> {
  const { session, now } = c.var.view;
  const [, resultText = "", ticket = ""] = /^([^.]+)\.(.*)$/.exec(c.req.query("settled") ?? "") ?? [];
  if (session === undefined || (await ticketEnd(session, purposeOf(home, resultText), ticket, now)) === undefined)
    return undefined;
  const [reconciliationId = "", homes = "", ...numbers] = resultText.split("~");
  const [sites = 0, skippedBy = 0, reopenAfter = 0, done = 0, left = 0, sitesDeletedAgain = 0] = numbers.map(Number);
  const homesDown = homes.split(",").filter((name) => name !== "");
  return { reconciliationId, homesDown, sites, skippedBy, reopenAfter, erasures: { done, left }, sitesDeletedAgain };
}
