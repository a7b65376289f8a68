import { setTimeout as sleep } from "node:timers/promises";
import { ask, connectionEnds, type LocalAddress } from "./local-address.ts";

/** The front sends it on to the other workerd, which answers it by itself, and logs nothing. */
const QUIET_PATH = "/cdn-cgi/handler/platform-proxy";
const PATIENCE = 5_000;

/**
 * Waits until the front of `wrangler dev` is broken. `wrangler dev` runs workerd twice: for the Worker, and in front of it for the
 * port. It starts either again after a crash, but a new front waits for a word that wrangler does not send, and holds every request
 * for ever.
 *
 * @returns false when `signal` is aborted first
 */
export async function frontBreaks(address: LocalAddress, signal: AbortSignal): Promise<boolean> {
  for (let short = 0; !signal.aborted; ) {
    const since = Date.now();
    // An idle connection ends after some seconds. Only when another cannot be made did the front end too.
    const connected = await connectionEnds(address, signal);
    if (!connected && !signal.aborted && !(await answers(address, signal))) return !signal.aborted;
    short = Date.now() - since < 1_000 ? short + 1 : 0;
    if (short > 2) await pause(1_000, signal);
  }
  return false;
}

async function answers(address: LocalAddress, signal: AbortSignal): Promise<boolean> {
  const patience = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE)]);
  while (!patience.aborted) {
    try {
      await ask(address, QUIET_PATH, patience);
      return true;
    } catch {
      await pause(200, patience);
    }
  }
  return false;
}

const pause = (ms: number, signal: AbortSignal) => sleep(ms, undefined, { signal }).catch(() => {});
