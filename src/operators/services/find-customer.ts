import type { Site } from "../store/directory/sites.ts";
import { selectCustomerRow } from "../store/home/customers.ts";
import { selectLastErasure, selectUnlisted } from "../store/home/erasures.ts";
import { customerHasher } from "./customer-hash.ts";
import { customerUnknown } from "./refusals.ts";
import { homeOf, type ServiceContext } from "./service-context.ts";

/** How many chat ids {@link findCustomer} reads. */
export const MOST_CHAT_IDS = 10_000;

/** A customer, and where their sessions are. */
export interface FoundCustomer {
  sbs: string;
  name: string;
  /** The first {@link MOST_CHAT_IDS} chat ids above the given one, ascending. */
  chatIds: number[];
}

/**
 * Finds a customer before their data is exported or erased. Writes nothing.
 *
 * @param input `after`: only sessions with a higher id
 * @throws ServiceError `not_found`, reason `customer_unknown`
 */
export async function findCustomer(
  ctx: ServiceContext,
  { site, sbs, after = 0 }: { site: Site; sbs: string; after?: number | undefined },
): Promise<FoundCustomer> {
  const db = homeOf(ctx, site);
  const sessionChoice = { siteId: site.id, externalId: sbs, until: Number.MAX_SAFE_INTEGER, listedTo: after };
  const [storedCustomer, chatIds] = await Promise.all([
    selectCustomerRow(db, site.id, sbs),
    selectUnlisted(db, sessionChoice, MOST_CHAT_IDS),
  ]);
  if (storedCustomer === undefined) throw customerUnknown();
  return { sbs, name: storedCustomer.name, chatIds };
}

/**
 * Whether a customer was erased: the hash of the customer's id shows it. Erases nobody.
 *
 * @returns the id of the last erasure; undefined when there was none
 * @throws ServiceError as `customerHasher` does
 */
export async function findErasure(
  ctx: ServiceContext,
  { site, sbs }: { site: Site; sbs: string },
): Promise<string | undefined> {
  const hash = await (await customerHasher(ctx))(site.id, sbs);
  return selectLastErasure(homeOf(ctx, site), site.id, hash);
}
