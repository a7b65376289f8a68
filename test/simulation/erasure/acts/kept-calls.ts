import type { Call } from "../../world/call.ts";
import type { OnItsWay } from "../../world/moments.ts";
import type { World } from "../../world/world.ts";

/** Milliseconds after which a call that is kept nowhere was answered, or never will be. */
const PATIENCE_MS = 9_000;

/** A call of which a database has not got a request, or whose answer from a database is on its way. */
export interface Kept {
  call: Call;
  letGo: () => void;
  /** Resolves when the call has ended. */
  sent: Promise<unknown>;
}

type Fits = (trip: OnItsWay) => boolean;

/** Sends a call and keeps the first of its trips to a database that fits. @returns undefined when none did */
export async function keepCall(world: World, fits: Fits, send: () => Promise<unknown>): Promise<Kept | undefined> {
  let call: Call | undefined;
  const { caught, letGo } = world.moments.keep((trip) => {
    if (call !== undefined || !fits(trip)) return false;
    call = trip.call;
    return true;
  });
  const sent = send();
  await Promise.race([caught, sent, world.sleep(PATIENCE_MS)]);
  if (call === undefined) letGo();
  return call && { call, letGo, sent };
}

/** Waits for something, but not for long: a database may be silent. */
export const within = async (world: World, work: Promise<unknown>): Promise<void> => {
  await Promise.race([work, world.sleep(PATIENCE_MS)]);
};

const isWrite = (to: string) => to.endsWith(" batch") || to.endsWith(" run");

/** Whether a trip is the nth write of an operator's call, on its way there or back. */
export const nthWrite =
  (method: string, path: string, nth: number, way: OnItsWay["way"]): Fits =>
  (trip) =>
    trip.way === way &&
    trip.call.wire.method === method &&
    trip.call.wire.path === `/admin${path}` &&
    isWrite(` ${trip.method}`) &&
    trip.call.trips.filter(({ to }) => isWrite(to)).length === nth;
