import { driveCrons } from "./drive-crons.ts";
import { frontBreaks } from "./front-breaks.ts";
import type { LocalAddress } from "./local-address.ts";
import { runWranglerDev } from "./run-wrangler.ts";

/**
 * Runs `wrangler dev` and the crons until a signal ends them. It starts `wrangler dev` again when its front is broken.
 *
 * @param args  wrangler's options, without those of the address
 * @param ready called each time when the Worker answers
 * @returns an exit code
 */
export async function serveLocally(
  address: LocalAddress,
  crons: readonly string[],
  args: readonly string[],
  ready: () => void = () => {},
): Promise<number> {
  const { protocol, host, port } = address;
  // Without --test-scheduled, wrangler warns that crons do not run.
  const wranglerArguments = [
    "--test-scheduled",
    `--local-protocol=${protocol}`,
    `--ip=${host}`,
    `--port=${port}`,
    ...args,
  ];
  for (;;) {
    const ended = new AbortController();
    const broken = new AbortController();
    const serving = () => {
      ready();
      void driveCrons(crons, address, ended.signal);
      void frontBreaks(address, ended.signal).then((breaks) => breaks && broken.abort());
    };
    const { exitCode, wasAskedToEnd } = await runWranglerDev(wranglerArguments, serving, broken.signal);
    ended.abort();
    if (!broken.signal.aborted || wasAskedToEnd) return exitCode;
    console.error("A process of wrangler dev crashed, and it answers no more. It is started again.");
  }
}
