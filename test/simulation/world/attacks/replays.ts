import type { Call, Wire } from "../call.ts";
import { LIMITS } from "../cloud/settings.ts";
import { beQuiet } from "../people/day.ts";
import type { Attacker } from "./attacker.ts";
import { twist } from "./twists.ts";

/** Sends a copy of a request in flight, at once: before its original, at the same time, or right after. */
export async function inTransit(attacker: Attacker): Promise<void> {
  const { world, chance } = attacker;
  const share = chance.between(0.02, 0.15);
  const spread = chance.one([0, 5, 200]);
  world.eavesdroppers.push((call) => {
    if (world.closing || !chance.happens(share)) return;
    const copies = chance.weighted({ "1": 5, "3": 3, "8": 1 });
    for (let i = 0; i < Number(copies); i++) {
      world.start(async () => {
        await world.sleep(chance.number() * spread);
        await attacker.send(chance.happens(0.3) ? twist(attacker, call) : call.wire, attacker.edgeOf(call));
      });
    }
  });
}

/**
 * Sends captured requests again, unchanged or changed. Refused ones, ones answered with 503 and lost ones are among
 * them.
 */
export async function replays(attacker: Attacker): Promise<void> {
  const { world, chance } = attacker;
  while (!world.closing) {
    await attacker.pause(50, 4_000);
    const call = attacker.captured();
    if (call === undefined) continue;
    const wire = chance.happens(0.6) ? twist(attacker, call) : chance.happens(0.4) ? sameId(attacker, call) : call.wire;
    const edge = attacker.edgeOf(call);
    await Promise.all(Array.from({ length: chance.one([1, 1, 3]) }, () => attacker.send(wire, edge)));
  }
}

/** The request under the id of its first answer. A copy with the owner of the nonce would look like the Worker's own second try. */
function sameId({ world }: Attacker, { wire, answer }: Call): Wire {
  const id = answer?.headers.get("x-request-id") ?? undefined;
  if (id === undefined) return wire;
  world.count("replay under the id of the first answer");
  return { ...wire, headers: { ...wire.headers, "x-request-id": id } };
}

const stampOf = ({ wire }: Call): number => Number(/"timestamp":(\d+)/.exec(wire.body)?.[1] ?? Number.NaN);

/** Sends requests again just before, just when and just after their timestamp becomes too old. */
export async function thresholds(attacker: Attacker): Promise<void> {
  const { world, chance } = attacker;
  while (!world.closing) {
    await attacker.pause(2_000, 40_000);
    const call = attacker.captured();
    if (call === undefined || Number.isNaN(stampOf(call))) continue;
    const { toleranceSeconds } = world.cloud.settings;
    for (const second of chance.some([-9, -1, 0, 1, 2, 9], 0.5)) {
      const wait = (stampOf(call) + toleranceSeconds + second) * 1000 + chance.between(-50, 950) - world.cloud.now();
      if (wait < 0) continue;
      world.start(async () => {
        await world.sleep(wait);
        if (!world.closing) await attacker.send(call.wire, attacker.edgeOf(call));
      });
    }
  }
}

/** A request that a closed site has just refused. Its ranstr is not used up, so it may be sent again. */
function refusedByClosedSite({ world }: Attacker): Call | undefined {
  return world.captured
    .slice(-20)
    .find(
      ({ answer, answeredAt = 0 }) =>
        answeredAt > world.scheduler.now - 2_000 && /site is closed/.test(answer?.headers.get("x-error-detail") ?? ""),
    );
}

/** A signed request that was refused for its form. Its ranstr is not used up either. */
const malformed = ({ world }: Attacker): Call | undefined =>
  world.captured.slice(-40).findLast(({ answer }) => {
    const detail = answer?.headers.get("x-error-detail");
    return (
      detail != null && /"参数错误"/.test(answer?.body ?? "") && !/^(body|appid|Content)|unknown|disabled/.test(detail)
    );
  });

/**
 * Sends copies of one app's requests to one edge: so many that the app's limit would be exceeded if they counted for
 * it.
 */
export async function floods(attacker: Attacker): Promise<void> {
  const { world, chance } = attacker;
  const { limit } = LIMITS.APP_LIMIT;
  while (!world.closing) {
    const until = world.scheduler.now + chance.between(8_000, 60_000);
    while (world.scheduler.now < until && refusedByClosedSite(attacker) === undefined) await attacker.pause(200, 900);
    const unused = refusedByClosedSite(attacker) ?? (chance.happens(0.4) ? malformed(attacker) : undefined);
    const last = unused ?? world.captured.at(-1);
    if (last === undefined) continue;
    const appid = /"appid":"[^"]*"/.exec(last.wire.body)?.[0] ?? "";
    const ofApp = world.captured.filter((call) => call.wire.body.includes(appid)).slice(-chance.one([1, 6, 60, 60]));
    const calls = unused === undefined ? ofApp : [unused];
    const edge = attacker.edgeOf(last);
    world.count("flood of replays");
    await Promise.all(
      Array.from({ length: unused === undefined ? limit + 15 : 2 * limit }, async (_, i) => {
        await world.sleep(chance.number() * 2_500);
        await attacker.send((calls[i % calls.length] ?? last).wire, edge);
      }),
    );
  }
}

/** Waits a night, and sends older requests in the morning. */
export async function late(attacker: Attacker): Promise<void> {
  const { world, chance } = attacker;
  if (chance.happens(0.5)) {
    await attacker.pause(5_000, 60_000);
    world.cloud.deploy({ ...world.cloud.settings, toleranceSeconds: chance.one([60, 600, 900]) });
  }
  while (!world.closing) {
    await attacker.pause(20_000, 150_000);
    const calls = world.captured.slice(-chance.integer(2, 8));
    const night = chance.one([300, 600, 900, 1_200, 1_795, 1_859, 1_861, 86_395]) + chance.between(-6, 6);
    world.count("night before late replays");
    beQuiet(world, night * 1000);
    await world.sleep(night * 1000 - chance.between(0, 4_000));
    for (const call of calls) {
      if (world.closing) return;
      await attacker.send(call.wire, attacker.edgeOf(call));
    }
  }
}
