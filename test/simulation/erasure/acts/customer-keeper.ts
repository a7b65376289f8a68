import { Operator } from "../../operators/acts/operator.ts";
import type { KnownSite } from "../../world/company.ts";
import { pause } from "../../world/day.ts";
import type { World } from "../../world/world.ts";
import { crossErasures, eraseHalf, joinAtErasure, someCustomer } from "./half-erasures.ts";

/** The acts of an owner who erases customers, with their weights. */
export const CUSTOMER_ACTS = { erase: 2, eraseInPart: 1, twoAtOnce: 1, eraseLate: 1, eraseHalf: 4, cross: 7, join: 4 };

/** The acts that hold an erasure at a moment, so that others act meanwhile. */
const AT_A_MOMENT: Partial<Record<keyof typeof CUSTOMER_ACTS, typeof eraseHalf>> = {
  eraseHalf,
  cross: crossErasures,
  join: joinAtErasure,
};

/** How often an owner repeats an erasure whose answer says that sessions remain. */
const MOST_CALLS = 40;

export async function keepCustomers(world: World): Promise<void> {
  const operator = new Operator(world);
  const { chance } = operator;
  const longest = chance.one([1_000, 2_500, 6_000]);
  while (!world.closing) {
    await pause(world, chance, chance.between(500, longest));
    const sites = world.company.sitesAtWork;
    if (sites.length > 0) await erase(operator, chance.one(sites), chance.weighted(CUSTOMER_ACTS));
  }
}

async function erase(operator: Operator, site: KnownSite, act: keyof typeof CUSTOMER_ACTS): Promise<void> {
  const { world, chance } = operator;
  world.count(`customer: ${act}`);
  const atMoment = AT_A_MOMENT[act];
  if (atMoment !== undefined) {
    const sbs = await atMoment(operator, site);
    // A half erasure waits for a restore, the cron job or the customer. Without KV it goes on, to give all receipts.
    if (world.weather.kvBound && chance.happens(0.4)) return;
    return eraseWhole(operator, site, sbs);
  }
  const sbs = await someCustomer(operator, site);
  if (act === "twoAtOnce") {
    await Promise.all([eraseWhole(operator, site, sbs), eraseWhole(operator, site, sbs)]);
    return;
  }
  if (act === "erase") return eraseWhole(operator, site, sbs);
  await eraseOnce(operator, site, sbs);
  // A late erasure goes on when its receipts are older than half a day. An erasure in part often stays unfinished.
  if (act === "eraseLate" && world.weather.weeks) await world.sleep(86_400_000);
  else if (chance.happens(0.5)) return;
  else await world.sleep(chance.between(1_000, 100_000));
  await eraseWhole(operator, site, sbs);
}

/** Sends an erasure until nothing is left. */
export async function eraseWhole(operator: Operator, site: KnownSite, sbs: string): Promise<void> {
  for (let i = 0; i < MOST_CALLS && !operator.world.closing; i++) {
    const remaining = await eraseOnce(operator, site, sbs);
    if (remaining === undefined || remaining === 0) return;
  }
}

/** @returns how many sessions remain; undefined when the answer is not 200 */
async function eraseOnce(operator: Operator, { siteId }: KnownSite, sbs: string): Promise<number | undefined> {
  const answer = await operator.insist("POST", `/sites/${siteId}/customers/erase`, { sbs });
  if (answer?.status !== 200) return undefined;
  const { remaining } = JSON.parse(answer.body) as { remaining: number };
  operator.world.count(remaining === 0 ? "customer erased" : "customer erased in part");
  return remaining;
}
