import { createFields, signed } from "./bench-app.ts";
import { load, postBytes } from "./keep-alive-load.ts";
import { cpuMs, type RunningWorker } from "./start-worker.ts";
import { median, spread } from "./statistics.ts";

const CONNECTIONS = 8;
/**
 * Requests of a round. Rounds are short, so that other load of the machine hits all sides of a round. The number is
 * even, because customers come in pairs.
 */
const PER_ROUND = 80;

/** What one round on a side took. */
interface Took {
  /** Milliseconds of a create, with 8 at once. */
  ms: number;
  /** Milliseconds of workerd's CPU for a create, all threads. */
  cpu: number;
}

/** For each start, the rounds of each side. */
type Starts<Side extends string> = Record<Side, Took[]>[];

/**
 * Creates as fast as this machine can, on several sides in turns. All sides are started anew for each start.
 *
 * @param plan `warming`: rounds that are not counted: V8 recompiles a Worker's code while it runs, and takes longer for more code
 * @param ended waits until what a round began on a side has ended
 */
export async function sideBySide<Side extends string>(
  sides: readonly Side[],
  plan: { starts: number; warming: number; rounds: number },
  start: (side: Side) => Promise<RunningWorker>,
  ended = async (_side: Side, _creates: number) => {},
): Promise<Starts<Side>> {
  const starts: Starts<Side> = [];
  for (let each = 0; each < plan.starts; each++) {
    const workers = {} as Record<Side, RunningWorker>;
    const rounds = Object.fromEntries(sides.map((side) => [side, [] as Took[]])) as Record<Side, Took[]>;
    for (const side of sides) workers[side] = await start(side);
    for (let at = -plan.warming; at < plan.rounds; at++) {
      // The order is reversed every other round, so that no side always runs after the same other side.
      for (const side of at % 2 === 0 ? sides : sides.toReversed()) {
        const { url, pid } = workers[side];
        const requests = Array.from({ length: PER_ROUND }, createRequest);
        const before = cpuMs(pid);
        const ms = await load(url, requests, CONNECTIONS);
        await ended(side, PER_ROUND);
        if (at >= 0) rounds[side].push({ ms: ms / PER_ROUND, cpu: (cpuMs(pid) - before) / PER_ROUND });
      }
    }
    for (const side of sides) await workers[side].close();
    starts.push(rounds);
  }
  return starts;
}

/** What a side took. */
export const ofSide = <Side extends string>(starts: Starts<Side>, what: keyof Took, side: Side) =>
  spread(starts.map((rounds) => median(rounds[side].map((round) => round[what]))));

/** What a side took beside another side in the same round. */
export const besides = <Side extends string>(starts: Starts<Side>, what: keyof Took, side: Side, to: Side) =>
  spread(starts.map((rounds) => median(rounds[side].map((round, i) => round[what] / (rounds[to][i]?.[what] ?? 0)))));

let customers = 0;

/** A create_gd; every other one has the customer of the one before. */
export function createRequest(): Buffer {
  const { body, signature } = signed(createFields({ sbs: `customer_${customers++ >> 1}` }));
  return postBytes("/openapi/chat/create_gd", body, { "x-chat-signature": signature });
}
