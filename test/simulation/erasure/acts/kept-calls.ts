import type { Call } from "../../world/call.ts";
import type { OnItsWay } from "../../world/moments.ts";
import type { World } from "../../world/world.ts";

/** Milliseconds after which a call that is not held was answered, or will never be answered. */
const PATIENCE_MS = 9_000;

/** A call that is held: a request to a database, or the database's answer, is on its way. */
export interface KeptCall {
  call: Call;
  letGo: () => void;
  /** Resolves when the call has ended. */
  end: Promise<unknown>;
}

type IsCallToKeep = (trip: OnItsWay) => boolean;

/** Sends a call and holds the first of its trips to a database that fits. @returns undefined when no trip fits */
export async function keepCall(
  world: World,
  fits: IsCallToKeep,
  send: () => Promise<unknown>,
): Promise<KeptCall | undefined> {
  let call: Call | undefined;
  const { onHold, letGo } = world.moments.keep((trip) => {
    if (call !== undefined || !fits(trip)) return false;
    call = trip.call;
    return true;
  });
  const end = send();
  await Promise.race([onHold, end, world.sleep(PATIENCE_MS)]);
  if (call === undefined) letGo();
  return call && { call, letGo, end };
}

/** Waits for work, but not longer than {@link PATIENCE_MS}, because a database may be silent. */
export const waitBriefly = async (world: World, work: Promise<unknown>): Promise<void> => {
  await Promise.race([work, world.sleep(PATIENCE_MS)]);
};

const isWrite = (to: string) => to.endsWith(" batch") || to.endsWith(" run");

/** Whether a trip is the nth write of an operator's call, on its way to the database or back. */
export const nthWrite =
  (method: string, path: string, nth: number, way: OnItsWay["way"]): IsCallToKeep =>
  (trip) =>
    trip.way === way &&
    trip.call.wire.method === method &&
    trip.call.wire.path === `/admin${path}` &&
    isWrite(` ${trip.method}`) &&
    trip.call.trips.filter(({ to }) => isWrite(to)).length === nth;
