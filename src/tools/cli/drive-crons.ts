import { setTimeout as sleep } from "node:timers/promises";
import { type LocalAddress, statusOf } from "./local-address.ts";

const MINUTE = 60_000;
/** The terminal shows a failure after this many failed minutes in a row. */
const FAILURES_BEFORE_NOTICE = 3;

/** The minutes between two runs of a cron such as `*\/5 * * * *`; undefined for a cron of another form. */
export function minutesOf(cron: string): number | undefined {
  const [form, minutes = "1"] = /^\*(?:\/([1-9]\d?))? \* \* \* \*$/.exec(cron) ?? [];
  return form === undefined ? undefined : Number(minutes);
}

/** The crons that run in a minute, counted from the start. Minute 0 runs the crons of every minute, because an earlier process may have left events. */
export function dueCrons(minute: number, crons: readonly string[]): string[] {
  return crons.filter((cron) => {
    const minutes = minutesOf(cron);
    return minutes !== undefined && (minute === 0 ? minutes === 1 : minute % minutes === 0);
  });
}

/**
 * Runs the crons of a Worker under `wrangler dev`, which does not run them itself. Ends when `signal` is aborted.
 *
 * @param minuteMs the milliseconds of a minute, which tests shorten
 */
export async function driveCrons(
  crons: readonly string[],
  address: LocalAddress,
  signal: AbortSignal,
  minuteMs = MINUTE,
): Promise<void> {
  let failures = 0;
  for (let minute = 0; !signal.aborted; minute++) {
    const fault = await run(dueCrons(minute, crons), address, signal);
    failures = fault === undefined ? 0 : failures + 1;
    if (failures === FAILURES_BEFORE_NOTICE && !signal.aborted)
      console.error(
        `The crons have failed ${FAILURES_BEFORE_NOTICE} times in a row: ${fault}. npm start goes on trying.`,
      );
    await sleep(minuteMs, undefined, { signal }).catch(() => {});
  }
}

/** @returns the first failure; undefined when all crons succeeded */
async function run(crons: readonly string[], address: LocalAddress, signal: AbortSignal): Promise<string | undefined> {
  const patience = AbortSignal.timeout(MINUTE);
  const faults = crons.map(async (cron) => {
    const path = `/cdn-cgi/handler/scheduled?cron=${encodeURIComponent(cron)}`;
    try {
      const status = await statusOf(address, path, AbortSignal.any([signal, patience]));
      return status === 200 ? undefined : `${cron} ended with status ${status}`;
    } catch (error) {
      return patience.aborted ? `${cron} gave no answer` : (error as Error).message;
    }
  });
  return (await Promise.all(faults)).find((fault) => fault !== undefined);
}
