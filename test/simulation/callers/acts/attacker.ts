import type { Chance } from "../../machine/chance.ts";
import type { Answer, Call, WireRequest } from "../../world/call.ts";
import type { KnownApp } from "../../world/company.ts";
import { pause } from "../../world/day.ts";
import type { World } from "../../world/world.ts";
import { forgeries } from "./forgeries.ts";
import { floods, inTransit, late, replays } from "./replays.ts";
import { sendFrom } from "./signed.ts";
import { tamperWithRecords } from "./tampering.ts";

/** Each seed leaves some attacks out, because one attack can hide the effects of another. */
export const ATTACKS = { inTransit, replays, floods, late, forgeries, tampering: tamperWithRecords };

export function startAttackers(world: World): void {
  const chance = world.chance.fork();
  const kinds = chance.some(Object.keys(ATTACKS) as (keyof typeof ATTACKS)[], 0.45);
  for (const kind of kinds) {
    world.count(`attack: ${kind}`);
    world.start(() => ATTACKS[kind](new Attacker(world, chance.fork())));
  }
  world.say(() => [undefined, `attacks: ${kinds.join(", ")}`]);
}

/** An attacker with addresses of its own. In some seeds, an honest caller has one of them too. */
export class Attacker {
  readonly world: World;
  readonly chance: Chance;
  readonly #addresses: (() => string)[];

  constructor(world: World, chance: Chance) {
    this.world = world;
    this.chance = chance;
    const host = chance.integer(1, 250);
    const ip = `198.18.${chance.integer(0, 9)}.${host}`;
    this.#addresses = [() => ip, ...(chance.happens(0.25) ? [() => world.captures.at(-1)?.client ?? ip] : [])];
  }

  /** Waits a random time, and longer while the world is quiet; `world.sleep` does not wait longer. */
  pause(least: number, most: number): Promise<void> {
    return pause(this.world, this.chance, this.chance.between(least, most));
  }

  /** Sends a request, by default from one of the attacker's addresses. Sends nothing when the world closes. */
  send(wire: WireRequest, edge: string, address = this.chance.one(this.#addresses)()): Promise<Answer | undefined> {
    return sendFrom(this.world, address, wire, edge);
  }

  anyEdge(): string {
    return this.chance.one(this.world.weather.edges);
  }

  /** The edge of a call, or sometimes another edge. */
  edgeOf(call: Call): string {
    return this.chance.happens(0.6) ? call.edge : this.anyEdge();
  }

  /** One of the last captured calls, or sometimes an older call. */
  capturedCall(): Call | undefined {
    const { captures } = this.world;
    if (captures.length === 0) return undefined;
    return this.chance.one(this.chance.happens(0.7) ? captures.slice(-12) : captures);
  }
}

/** The newest secret of an app, for actors that call as its owner. */
export const secretOf = ({ secrets }: Pick<KnownApp, "secrets">): string => secrets.at(-1)?.secret ?? "none";

export const newSession = ({ world, chance }: Pick<Attacker, "world" | "chance">, appid: string, agent: number) => ({
  appid,
  timestamp: world.clock,
  ranstr: chance.uuid(),
  sbs: `customer_${chance.integer(1, 6)}`,
  sbs_mc: "Customer made up",
  ip: "198.18.0.1",
  content: "Order made up is late.",
  kefu_id: [agent],
  fzr_uid: agent,
});
