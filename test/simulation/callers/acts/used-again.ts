import type { Chance } from "../../machine/chance.ts";
import { modelAt } from "../../operations/index.ts";
import type { Call } from "../../world/call.ts";
import { pause, rest } from "../../world/day.ts";
import type { World } from "../../world/world.ts";
import { secretOf } from "./attacker.ts";
import { holdFirstTry } from "./lost-commits.ts";
import { SimpleCaller, signedRequest } from "./signed.ts";

const DAY_MS = 86_400_000;
const NONCE_MS = 1_860_000;

const someApps = ({ company }: World, chance: Chance) =>
  chance.some(
    company.sitesAtWork.flatMap(({ apps }) => apps.filter(({ isRevoked }) => !isRevoked)),
    0.7,
  );

/** Uses Idempotency-Keys again when they have expired but are not pruned yet, and a third time right after that. */
export async function useOldKeys(world: World): Promise<void> {
  const chance = world.chance.fork();
  const caller = new SimpleCaller(world, chance);
  for (let day = 0; day < 2; day++) {
    await pause(world, chance, chance.between(1_000, 15_000));
    const requests = someApps(world, chance).map((app) => ({ app, key: `day-${chance.uuid()}`, fields: {} }));
    const send = (change: (each: (typeof requests)[number]) => object) =>
      Promise.all(
        requests.map((each) => {
          const wire = signedRequest(change(each), secretOf(each.app), { "idempotency-key": each.key });
          return caller.send(wire, chance.one(world.weather.edges));
        }),
      );
    await send(({ app }) => caller.session(app));
    if (world.closing) return;
    // The clocks of isolates differ by up to 16 s.
    await rest(world, DAY_MS + chance.between(17_000, 60_000));
    for (const each of requests) each.fields = caller.session(each.app);
    const answers = await send(({ fields }) => fields);
    for (const each of answers) if (each?.status === 200) world.count("moment: key used again after a day");
    const freshly = { timestamp: world.clock, ranstr: chance.uuid() };
    await send(({ fields }) => ({ ...fields, ...freshly }));
  }
}

/** Uses a ranstr again when it has expired but is not pruned yet, in a call whose first try D1 holds back. */
export async function useOldRanstrs(world: World): Promise<void> {
  const chance = world.chance.fork();
  const caller = new SimpleCaller(world, chance);
  await pause(world, chance, chance.between(1_000, 15_000));
  const requests = someApps(world, chance).map((app) => ({ app, ranstr: chance.uuid() }));
  const send = () =>
    Promise.all(
      requests.map(({ app, ranstr }) => {
        const wire = signedRequest({ ...caller.session(app), ranstr }, secretOf(app));
        return caller.send(wire, chance.one(world.weather.edges));
      }),
    );
  await send();
  if (world.closing) return;
  // The clocks of isolates differ by up to 16 s.
  await rest(world, NONCE_MS + chance.between(17_000, 60_000));
  const isAgain = (call: Call) => requests.some(({ ranstr }) => call.wire.body.includes(ranstr));
  world.moments.always((at) => {
    if (at.kind === "arrives" && isAgain(at.call) && world.cloud.isRough) holdFirstTry(world, at.call);
  });
  for (const answer of await send()) if (answer?.status === 200) world.count("moment: ranstr used again after 31 min");
}

/** When a closed site opens, sends the requests again that it has refused: their ranstr is not used up. */
export function sendWhenOpen(world: World): void {
  const chance = world.chance.fork();
  const caller = new SimpleCaller(world, chance);
  const refusedCalls = new Map<number, Call[]>();
  const noteRefused = (call: Call) => {
    if (!/site is closed/.test(call.answer?.headers.get("x-error-detail") ?? "")) return;
    const [, appid] = /"appid":"([^"]*)"/.exec(call.wire.body) ?? [];
    const { siteId = 0 } = world.company.apps.find((app) => app.appid === appid)?.site ?? {};
    refusedCalls.set(siteId, [...(refusedCalls.get(siteId) ?? []), call].slice(-4));
  };
  world.moments.always((at) => {
    if (at.kind === "answers" && modelAt(at.call.wire.path) !== undefined) noteRefused(at.call);
    if (at.kind !== "commits" || world.closing) return;
    for (const { table, before, after } of at.changes) {
      if (table !== "home_sites" || before?.status !== "closed" || after?.status !== "open") continue;
      for (const call of refusedCalls.get(Number(after.site_id)) ?? []) world.start(() => sendCallAgain(call));
      refusedCalls.delete(Number(after.site_id));
    }
  });

  async function sendCallAgain({ wire, edge }: Call): Promise<void> {
    // An isolate may believe for a second that the site is closed.
    await world.sleep(chance.between(900, 2_500));
    const answer = await caller.send(wire, edge);
    if (answer?.status === 200) world.count("moment: request of a closed site sent again");
  }
}
