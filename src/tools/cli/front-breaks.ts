import { setTimeout as sleep } from "node:timers/promises";
import { connectionEnds, type LocalAddress, statusOf } from "./local-address.ts";

/** The front passes this path to the other workerd, which answers it itself and logs nothing. */
const QUIET_PATH = "/cdn-cgi/handler/platform-proxy";
const PATIENCE_MS = 5_000;

/**
 * Waits until the front of `wrangler dev` is broken. `wrangler dev` runs two workerd processes: one for the Worker, and a front for the
 * port. It restarts each after a crash. But a new front waits for a message that wrangler never sends, and answers no request.
 *
 * @returns false when `signal` is aborted first
 */
export async function frontBreaks(address: LocalAddress, signal: AbortSignal): Promise<boolean> {
  for (let shortConnections = 0; !signal.aborted; ) {
    const since = Date.now();
    // An idle connection may end after some seconds. The front has ended only when no new connection can be made.
    const connected = await connectionEnds(address, signal);
    if (!connected && !signal.aborted && !(await isAnswering(address, signal))) return !signal.aborted;
    shortConnections = Date.now() - since < 1_000 ? shortConnections + 1 : 0;
    if (shortConnections > 2) await pause(1_000, signal);
  }
  return false;
}

async function isAnswering(address: LocalAddress, signal: AbortSignal): Promise<boolean> {
  const patience = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]);
  while (!patience.aborted) {
    try {
      await statusOf(address, QUIET_PATH, patience);
      return true;
    } catch {
      await pause(200, patience);
    }
  }
  return false;
}

const pause = (ms: number, signal: AbortSignal) => sleep(ms, undefined, { signal }).catch(() => {});
