import type { Chance } from "../../machine/chance.ts";
import type { Answer, Call, Wire } from "../call.ts";
import type { KnownApp } from "../people/company.ts";
import { pause } from "../people/day.ts";
import type { World } from "../world.ts";
import { forgeries } from "./forgeries.ts";
import { intruders } from "./intruders.ts";
import { floods, inTransit, late, replays, thresholds } from "./replays.ts";
import { tampering } from "./tampering.ts";
import { tenant } from "./tenant.ts";

/** Each seed leaves some attacks out, because one attack can hide the effects of another. */
export const ATTACKS = {
  inTransit,
  replays,
  thresholds,
  floods,
  late,
  forgeries,
  intruders,
  tenant,
  tampering,
} satisfies Record<string, (attacker: Attacker) => Promise<void>>;

/** Runs attackers until the world closes. */
export function startAttackers(world: World): void {
  const chance = world.chance.fork();
  const kinds = chance.some(Object.keys(ATTACKS) as (keyof typeof ATTACKS)[], 0.45);
  for (const kind of kinds) {
    world.count(`attack: ${kind}`);
    world.start(() => ATTACKS[kind](new Attacker(world, chance.fork())));
  }
  world.say(() => [undefined, `attacks: ${kinds.join(", ")}`]);
}

/** An attacker. His addresses are his own or, in some seeds, include one that an honest caller has too. */
export class Attacker {
  readonly world: World;
  readonly chance: Chance;
  readonly #addresses: (() => string)[];

  constructor(world: World, chance: Chance) {
    this.world = world;
    this.chance = chance;
    const host = chance.integer(1, 250);
    const own = `198.18.${chance.integer(0, 9)}.${host}`;
    // One client has all addresses with the same first 64 bits. An address may be written in full or in short.
    const range = `2001:db8:${host}`;
    this.#addresses = [
      () => own,
      ...(chance.happens(0.3)
        ? [() => chance.one([`${range}:0:${chance.integer(1, 9999)}:0:0:1`, `${range}::${chance.integer(1, 9999)}`])]
        : []),
      // These addresses belong to several clients with the first 48 bits in common.
      ...(chance.happens(0.2) ? [() => `${range}:${chance.integer(1, 5)}::1`] : []),
      ...(chance.happens(0.25) ? [() => world.captured.at(-1)?.client ?? own] : []),
    ];
  }

  /** Waits, and longer when the world is quiet; `world.sleep` waits for the given time only. */
  pause(least: number, most: number): Promise<void> {
    return pause(this.world, this.chance, this.chance.between(least, most));
  }

  /** Sends from one of the attacker's addresses, unless the world closes. */
  async send(wire: Wire, edge: string): Promise<Answer | undefined> {
    const { world, chance } = this;
    if (world.closing) return undefined;
    const headers = { ...wire.headers, "cf-connecting-ip": chance.one(this.#addresses)() };
    return world.send(world.newCall("attacker", { ...wire, headers }, edge));
  }

  anyEdge(): string {
    return this.chance.one(this.world.weather.edges);
  }

  /** The edge of a call, or sometimes another one. */
  edgeOf(call: Call): string {
    return this.chance.happens(0.6) ? call.edge : this.anyEdge();
  }

  /** One of the last captured calls, or sometimes an old one. */
  captured(): Call | undefined {
    const { captured } = this.world;
    if (captured.length === 0) return undefined;
    return this.chance.happens(0.7) ? this.chance.one(captured.slice(-12)) : this.chance.one(captured);
  }
}

/** The newest secret of an app, even if the attacker cannot have it. */
export const secretOf = ({ secrets }: Pick<KnownApp, "secrets">): string => secrets.at(-1)?.secret ?? "none";

/** All fields of a new session except the appid. */
export const newSession = ({ world, chance }: Attacker, agent: number) => ({
  timestamp: world.clock,
  ranstr: chance.uuid(),
  sbs: `customer_${chance.integer(1, 6)}`,
  sbs_mc: "Customer made up",
  ip: "198.18.0.1",
  content: "Order made up is late.",
  kefu_id: [agent],
  fzr_uid: agent,
});
