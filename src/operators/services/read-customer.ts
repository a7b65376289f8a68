import type { Site } from "../store/directory/sites.ts";
import {
  type CustomerRow,
  selectCustomerOf,
  selectCustomerSummary,
  selectLatestCustomers,
} from "../store/home/customer-summary.ts";
import { selectNamedCustomers } from "../store/home/customers.ts";
import { customerUnknown } from "./refusals.ts";
import { homeOf, type ServiceContext } from "./service-context.ts";

export type { CustomerRow } from "../store/home/customer-summary.ts";
export { CUSTOMERS_READ } from "../store/home/customers.ts";

/** How many of the newest sessions {@link latestCustomers} looks at. */
const CUSTOMERS_AMONG = 1_000;

/** How many of a customer's newest sessions {@link readCustomer} looks at for metadata. */
export const METADATA_AMONG = 20;

/** A customer as the console shows them. */
export interface ShownCustomer {
  sbs: string;
  name: string;
  ip: string;
  first: { id: number; createdAt: number };
  last: { id: number; createdAt: number };
  /** How many sessions; counting stops at `COUNT_LIMIT`. */
  sessions: number;
  /** The names in the newest metadata, with the different values of each, the newest first. */
  metadata: Map<string, string[]>;
}

/** The customers of a site's newest sessions, the latest first. */
export const latestCustomers = (
  ctx: ServiceContext,
  { site, limit }: { site: Site; limit: number },
): Promise<CustomerRow[]> => selectLatestCustomers(homeOf(ctx, site), site.id, CUSTOMERS_AMONG, limit);

/**
 * A page of the customers whose name begins with a text, in the order of their ids. Capitals A to Z count as small letters. A page looks
 * at `CUSTOMERS_READ` customers at most, so it may have few or none and still a next page.
 *
 * @param input `after` is the `next` of the page before
 * @returns `lookedTo`: the last customer who was looked at, when the page is not full and there are more; `exact`: on the first page, the
 *   customer whose id is the text, with their latest session
 */
export async function findCustomers(
  ctx: ServiceContext,
  { site, text, after, limit }: { site: Site; text: string; after?: string | undefined; limit: number },
): Promise<{
  items: CustomerRow[];
  next: string | null;
  lookedTo: string | null;
  exact: { name: string; chatId: number } | undefined;
}> {
  const db = homeOf(ctx, site);
  const [{ rows, next, isFull }, exact] = await Promise.all([
    selectNamedCustomers(db, site.id, text, after ?? "", limit),
    after === undefined ? selectCustomerSummary(db, site.id, text, 1) : undefined,
  ]);
  return {
    items: rows,
    next,
    lookedTo: isFull ? null : next,
    exact: exact && { name: exact.customer.name, chatId: exact.last.id },
  };
}

/** The id of the customer of a session; undefined when the site has no such session. */
export const customerOf = (
  ctx: ServiceContext,
  { site, chatId }: { site: Site; chatId: number },
): Promise<string | undefined> => selectCustomerOf(homeOf(ctx, site), site.id, chatId);

/** A customer, for the customer's page. @throws ServiceError `not_found`, reason `customer_unknown` */
export async function readCustomer(
  ctx: ServiceContext,
  { site, sbs }: { site: Site; sbs: string },
): Promise<ShownCustomer> {
  const summary = await selectCustomerSummary(homeOf(ctx, site), site.id, sbs, METADATA_AMONG);
  if (summary === undefined) throw customerUnknown();
  const { customer, first, last, count } = summary;
  const metadata = new Map<string, string[]>();
  for (const [name, value] of summary.metadata.flatMap((each) => Object.entries(each))) {
    const values = metadata.get(name) ?? [];
    if (!values.includes(value)) metadata.set(name, [...values, value]);
  }
  return {
    sbs,
    name: customer.name,
    ip: customer.ip,
    first,
    last: { id: last.id, createdAt: last.createdAt },
    sessions: count,
    metadata,
  };
}
