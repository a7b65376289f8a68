import { Caller } from "../../callers/acts/caller.ts";
import { Operator } from "../../operators/acts/operator.ts";
import type { KnownSite } from "../../world/company.ts";
import { PRUNE_CRON, triggerCron } from "../../world/cron.ts";
import type { OnItsWay } from "../../world/moments.ts";
import { sessionsOf } from "../rules/erased-rows.ts";
import { type KeptCall, keepCall, nthWrite, waitBriefly } from "./kept-calls.ts";

/** The writes of an erasure: 1 begins it, 2 is its receipt, 3 notes the receipt at the home, 4 is its first step. */
const WRITES = [1, 2, 3, 3, 4, 4, 4];
/** Milliseconds after which the Worker has tried again. */
const SECOND_TRY_MS = 3_500;

const pathOf = ({ siteId }: KnownSite) => `/sites/${siteId}/customers/erase`;

/** Begins an erasure, and holds the first of its trips to a database for which `fits` is true. */
const keepErasure = (operator: Operator, site: KnownSite, sbs: string, fits: (trip: OnItsWay) => boolean) =>
  keepCall(operator.world, fits, () => operator.call("POST", pathOf(site), { sbs }));

/** How many batches an erasure has sent to its home, if this trip is one of them; otherwise 0. */
const batchesUntil = ({ home, method, call: { wire, trips } }: OnItsWay, site: KnownSite): number =>
  home === site.home && method === "batch" && wire.path === `/admin${pathOf(site)}`
    ? trips.filter(({ to }) => to === `${home} batch`).length
    : 0;

/** A customer of the newest sessions. */
export async function someCustomer(operator: Operator, { siteId }: KnownSite): Promise<string> {
  const { chance } = operator;
  const answer = await operator.call("GET", `/sites/${siteId}/sessions?limit=100`);
  if (answer?.status !== 200) return `customer_${chance.integer(1, 6)}`;
  const { items } = JSON.parse(answer.body) as { items: { customer: { sbs: string } }[] };
  return items.length === 0 ? "nobody" : chance.one(items).customer.sbs;
}

/** A new customer of a site, with few sessions. */
async function newCustomer(operator: Operator, site: KnownSite): Promise<string> {
  const { world, chance } = operator;
  const sbs = `customer_${Math.ceil(world.scheduler.now)}`;
  for (let timesLeft = chance.integer(1, 2); timesLeft > 0; timesLeft--) await comeBack(operator, site, sbs);
  return sbs;
}

/** Opens one more session for the customer, when nothing fails. */
async function comeBack({ world, chance }: Operator, site: KnownSite, sbs: string): Promise<void> {
  const app = site.apps.find(({ isRevoked, secrets }) => !isRevoked && secrets.length > 0);
  if (app !== undefined) await waitBriefly(world, new Caller(world, `for-${chance.integer(1, 1e9)}`, app).open(sbs));
}

/**
 * Holds an erasure at one of its writes, and mostly breaks it off there. Meanwhile the customer opens a session, the
 * cron job runs, or another operator erases the customer.
 *
 * @returns the customer
 */
export async function eraseHalf(operator: Operator, site: KnownSite): Promise<string> {
  const { world, chance } = operator;
  const sbs = await (chance.happens(0.6) ? newCustomer(operator, site) : someCustomer(operator, site));
  const way = chance.one(["there", "back"] as const);
  const fits = nthWrite("POST", pathOf(site), chance.one(WRITES), way);
  const keptCall = await keepErasure(operator, site, sbs, fits);
  if (keptCall === undefined) return sbs;
  world.count("moment: an erasure is kept at one of its writes");
  const ending = chance.one(["cut off", "cut off", "second try", "late"]);
  if (ending === "cut off") world.cloud.cutOff(keptCall.call);
  if (ending === "second try") await world.sleep(SECOND_TRY_MS);
  if (chance.happens(0.6)) await comeBack(operator, site, sbs);
  if (chance.happens(0.3)) await waitBriefly(world, triggerCron(world, PRUNE_CRON, chance.one(world.weather.edges)));
  if (chance.happens(0.4)) await new Operator(world).call("POST", pathOf(site), { sbs });
  keptCall.letGo();
  await keptCall.end;
  return sbs;
}

/** Whether a trip is the step of an erasure: before it, the call has read the receipts in the directory. */
const isStep =
  (site: KnownSite, others: readonly (KeptCall | undefined)[]) =>
  (trip: OnItsWay): boolean =>
    trip.way === "there" &&
    batchesUntil(trip, site) > 1 &&
    trip.call.trips.at(-2)?.to === "main raw" &&
    !others.some((other) => other?.call === trip.call);

/** Holds two erasures of a new customer at their steps, and opens a session in between. @returns the customer */
export async function crossErasures(operator: Operator, site: KnownSite): Promise<string> {
  const { world, chance } = operator;
  const sbs = await newCustomer(operator, site);
  const first = await keepErasure(operator, site, sbs, isStep(site, []));
  if (first === undefined) return sbs;
  if (chance.happens(0.8)) world.cloud.cutOff(first.call);
  await comeBack(operator, site, sbs);
  const second = await keepErasure(operator, site, sbs, isStep(site, [first]));
  if (second !== undefined) world.count("moment: two erasures of a customer who came back cross at their steps");
  for (const each of chance.happens(0.7) ? [first, second] : [second, first]) {
    each?.letGo();
    await world.sleep(chance.between(0, 60));
  }
  await Promise.all([first.end, second?.end]);
  return sbs;
}

/** Holds an erasure at its step until agents have joined a session that it takes. @returns the customer */
export async function joinAtErasure(operator: Operator, site: KnownSite): Promise<string> {
  const { world, chance } = operator;
  const sbs = await newCustomer(operator, site);
  const keptCall = await keepErasure(operator, site, sbs, isStep(site, []));
  const session = sessionsOf(world.checker.model.home(site.home), { siteId: site.siteId, sbs }).at(-1);
  const app = site.apps.find(({ isRevoked, secrets }) => !isRevoked && secrets.length > 0);
  if (keptCall !== undefined && session !== undefined && app !== undefined) {
    const join = new Caller(world, `join-${chance.integer(1, 1e9)}`, app).join(Number(session.row.id));
    const outcome = join.then((isDone) => isDone && world.count("moment: agents join a session at its erasure"));
    await waitBriefly(world, outcome);
  }
  keptCall?.letGo();
  await keptCall?.end;
  return sbs;
}

/** Holds an erasure at one of its writes just before its home closes. @returns a function that releases it */
export async function eraseWhileClosing(operator: Operator, sites: readonly KnownSite[]): Promise<() => void> {
  const { world, chance } = operator;
  if (sites.length === 0 || !chance.happens(0.5)) return () => {};
  const site = chance.one(sites);
  const sbs = await newCustomer(operator, site);
  const fits = nthWrite("POST", pathOf(site), chance.one(WRITES), "there");
  const keptCall = await keepErasure(operator, site, sbs, fits);
  if (keptCall !== undefined) world.count("moment: an erasure is kept while its home closes");
  return () => keptCall?.letGo();
}

/**
 * Begins erasures before a restore point, does half of each, and mostly opens a session for the customer after that.
 *
 * @returns a function that ends the erasures, for after the restore point
 */
export async function eraseAroundPoint(
  operator: Operator,
  sites: readonly KnownSite[],
  end: (site: KnownSite, sbs: string) => Promise<void>,
): Promise<() => Promise<void>> {
  const { world, chance } = operator;
  const halves: { site: KnownSite; sbs: string }[] = [];
  for (const site of chance.some(sites, 0.8)) {
    const sbs = await newCustomer(operator, site);
    // The receipt is written and the home knows that, but nothing is deleted yet.
    const fits = (trip: OnItsWay) => trip.way === "back" && batchesUntil(trip, site) === 2;
    const keptCall = chance.happens(0.8) ? await keepErasure(operator, site, sbs, fits) : undefined;
    if (keptCall !== undefined) world.cloud.cutOff(keptCall.call);
    keptCall?.letGo();
    if (chance.happens(0.9)) await comeBack(operator, site, sbs);
    halves.push({ site, sbs });
  }
  return async () => {
    for (const { site, sbs } of halves.splice(0)) {
      world.count("moment: an erasure ends after a restore point that has its begin");
      await end(site, sbs);
    }
  };
}
