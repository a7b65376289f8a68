import type { Call, WireRequest } from "../../world/call.ts";
import { LIMITS } from "../../world/cloud/settings.ts";
import { beQuiet } from "../../world/day.ts";
import { type Attacker, secretOf } from "./attacker.ts";
import { SimpleCaller } from "./signed.ts";

const FLOOD_MS = 2_500;

/** Sends a copy or a forgery of a request in flight: before the original, at the same time, or right after it. */
export async function inTransit(attacker: Attacker): Promise<void> {
  const { world, chance } = attacker;
  const share = chance.between(0.05, 0.25);
  const spread = chance.one([0, 5, 200]);
  world.eavesdroppers.push((call) => {
    if (world.closing || !chance.happens(share)) return;
    const copies = chance.weighted({ "1": 5, "3": 3, "8": 1 });
    for (let i = 0; i < Number(copies); i++) {
      world.start(async () => {
        await world.sleep(chance.number() * spread);
        const kind = chance.weighted({ same: 4, twisted: 3, forged: 3 });
        const wire =
          kind === "same" ? call.wire : kind === "twisted" ? withOtherHeader(attacker, call) : spoilSignature(call);
        await attacker.send(wire, attacker.edgeOf(call));
      });
    }
  });
}

/** Sends captured requests again, unchanged or with another header. Some of them were refused or lost. */
export async function replays(attacker: Attacker): Promise<void> {
  const { world, chance } = attacker;
  while (!world.closing) {
    await attacker.pause(50, 4_000);
    const call = attacker.capturedCall();
    if (call === undefined) continue;
    const wire = chance.happens(0.5) ? withOtherHeader(attacker, call) : call.wire;
    const edge = attacker.edgeOf(call);
    await Promise.all(Array.from({ length: chance.one([1, 1, 3]) }, () => attacker.send(wire, edge)));
  }
}

const spoilSignature = ({ wire }: Call): WireRequest => ({
  ...wire,
  headers: { ...wire.headers, "x-chat-signature": "0".repeat(64) },
});

/** Other headers, which leave the signature valid. One of them gives a copy the request id of the original. */
export const OTHER_HEADERS: Record<
  string,
  (attacker: Attacker, call: Call) => [header: string, value: string | undefined]
> = {
  "key of an order": ({ chance }) => ["idempotency-key", `order-${chance.integer(1, 9)}-${chance.integer(0, 20)}`],
  "no key": () => ["idempotency-key", undefined],
  "key of another": (attacker) => ["idempotency-key", attacker.capturedCall()?.wire.headers["idempotency-key"]],
  "signature in capitals": (_, { wire }) => ["x-chat-signature", wire.headers["x-chat-signature"]?.toUpperCase()],
  "id of the first answer": (_, { answer }) => ["x-request-id", answer?.headers.get("x-request-id") ?? undefined],
};

function withOtherHeader(attacker: Attacker, call: Call): WireRequest {
  const name = attacker.chance.one(Object.keys(OTHER_HEADERS));
  attacker.world.count(`twist: ${name}`);
  const [header, value] = (OTHER_HEADERS[name] as (typeof OTHER_HEADERS)[string])(attacker, call);
  const { [header]: _, ...headers } = call.wire.headers;
  return { ...call.wire, headers: { ...headers, ...(value !== undefined && { [header]: value }) } };
}

/** Sends so many copies of one app's requests to one edge that they would exceed the app's limit if they counted. */
export async function floods(attacker: Attacker): Promise<void> {
  const { world, chance } = attacker;
  const { limit } = LIMITS.APP_LIMIT;
  const owner = new SimpleCaller(world, chance.fork());
  while (!world.closing) {
    await attacker.pause(6_000, 40_000);
    const last = world.captures.at(-1);
    if (last === undefined) continue;
    const appid = /"appid":"[^"]*"/.exec(last.wire.body)?.[0] ?? "";
    const calls = world.captures.filter((call) => call.wire.body.includes(appid)).slice(-chance.one([1, 6, 60, 60]));
    const edge = attacker.edgeOf(last);
    world.count("flood of replays");
    const flood = Array.from({ length: limit + 15 }, async (_, i) => {
      await world.sleep(chance.number() * FLOOD_MS);
      await attacker.send((calls[i % calls.length] ?? last).wire, edge);
    });
    // The app's own calls come towards the end of the flood.
    const app = world.company.apps.find((each) => !each.isRevoked && appid.includes(each.appid));
    const ownCalls = [0.75, 0.85, 0.95].map(async (part) => {
      await world.sleep(part * FLOOD_MS);
      if (app !== undefined) await owner.sendEverywhere(app, secretOf(app));
    });
    await Promise.all([...flood, ...ownCalls]);
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
    const calls = world.captures.slice(-chance.integer(2, 8));
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
