import { createFields, signed } from "./bench-app.ts";
import { load, postBytes } from "./keep-alive-load.ts";
import { cpuMs, type RunningWorker } from "./start-worker.ts";
import { median, spread } from "./statistics.ts";

const CONNECTIONS = 8;
/**
 * The number of requests of a round. Rounds are short, so that other load of the machine affects all compared Workers. The number
 * is even, because two requests share a customer.
 */
const PER_ROUND = 80;

/** How long one round on a Worker took. */
interface TimedRun {
  /** Milliseconds for each create_gd, with 8 at the same time. */
  ms: number;
  /** Milliseconds of CPU time of all workerd threads for each create_gd. */
  cpu: number;
}

/** The rounds of each Worker, for each start. */
type Starts<Side extends string> = Record<Side, TimedRun[]>[];

/**
 * Sends create_gd as fast as this machine can, to several Workers in turns. Each start starts all of them again.
 *
 * @param plan `warming`: rounds that are not counted, because V8 first recompiles a Worker's code while it runs
 * @param settle waits until all work of a round on a Worker has ended
 */
export async function sideBySide<Side extends string>(
  sides: readonly Side[],
  plan: { starts: number; warming: number; rounds: number },
  start: (side: Side) => Promise<RunningWorker>,
  settle = async (_side: Side, _creates: number) => {},
): Promise<Starts<Side>> {
  const starts: Starts<Side> = [];
  for (let each = 0; each < plan.starts; each++) {
    const workers = {} as Record<Side, RunningWorker>;
    const rounds = Object.fromEntries(sides.map((side) => [side, [] as TimedRun[]])) as Record<Side, TimedRun[]>;
    for (const side of sides) workers[side] = await start(side);
    for (let at = -plan.warming; at < plan.rounds; at++) {
      // Every second round has the reverse order, so that no Worker always runs after the same other Worker.
      for (const side of at % 2 === 0 ? sides : sides.toReversed()) {
        const { url, pid } = workers[side];
        const requests = Array.from({ length: PER_ROUND }, createRequest);
        const before = cpuMs(pid);
        const ms = await load(url, requests, CONNECTIONS);
        await settle(side, PER_ROUND);
        if (at >= 0) rounds[side].push({ ms: ms / PER_ROUND, cpu: (cpuMs(pid) - before) / PER_ROUND });
      }
    }
    for (const side of sides) await workers[side].close();
    starts.push(rounds);
  }
  return starts;
}

export const ofSide = <Side extends string>(starts: Starts<Side>, what: keyof TimedRun, side: Side) =>
  spread(starts.map((rounds) => median(rounds[side].map((round) => round[what]))));

/** The times of a Worker, divided by those of another Worker in the same round. */
export const ratiosOf = <Side extends string>(starts: Starts<Side>, what: keyof TimedRun, side: Side, to: Side) =>
  spread(starts.map((rounds) => median(rounds[side].map((round, i) => round[what] / (rounds[to][i]?.[what] ?? 0)))));

let customers = 0;

/** A create_gd request. Every second one has the customer of the request before it. */
export function createRequest(): Buffer {
  const { body, signature } = signed(createFields({ sbs: `customer_${customers++ >> 1}` }));
  return postBytes("/openapi/chat/create_gd", body, { "x-chat-signature": signature });
}
