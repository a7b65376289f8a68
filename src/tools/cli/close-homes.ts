import { CLOSED_LIST, closedSecret } from "../../core/homes.ts";
import { NotDeployed } from "./create-databases.ts";
import { type Closing, closedAfter } from "./home-options.ts";
import { requireHomes } from "./homes.ts";
import type { Io } from "./io.ts";
import type { LiveWorker, ServedVersion } from "./live-worker.ts";

/**
 * Closes and opens homes of the deployed Worker: sets or deletes one secret for each. The Worker's code does not change. It asks no
 * database, because one of them may be broken.
 *
 * @param homes all homes of the configuration. The serving Worker may have other homes, open or closed
 * @throws NotDeployed UsageError
 */
export async function closeHomes(live: LiveWorker, closing: Closing, homes: readonly string[], io: Io): Promise<void> {
  const before = await live.serving();
  requireHomes(
    [...closing.close, ...closing.open],
    [...new Set([...homes, ...before.databases.keys(), ...before.closed])],
  );
  const isSet = (home: string) => before.secrets.includes(closedSecret(home));
  for (const home of closing.close) if (!isSet(home)) await live.setSecret(closedSecret(home), home);
  for (const home of closing.open) if (isSet(home)) await live.deleteSecret(closedSecret(home));
  if (before.list !== undefined) await changeList(live, closing);
  const { closed, list = closed } = await live.serving();
  const unknownHomes = [
    ...closing.close.filter((home) => !closed.includes(home) || !list.includes(home)),
    ...closing.open.filter((home) => closed.includes(home)),
  ];
  if (unknownHomes.length > 0) {
    throw new NotDeployed(
      `Cloudflare took the change, but Worker ${live.name} does not have it yet for ${unknownHomes.join(", ")}. Run this again to look.`,
    );
  }
  for (const home of closing.open) io.out(`Home ${home} is open${before.closed.includes(home) ? "" : ", as it was"}.`);
  for (const home of closed) tellClosed(home, before.closed.includes(home), io);
}

export function tellClosed(home: string, wasClosed: boolean, io: Io): void {
  io.out(
    `Home ${home} is closed${wasClosed ? ", as it was" : ""}: its sites answer 503 until npm run deploy -- --open ${home}.`,
  );
}

/** An older release may be serving. It knows the var CLOSED_HOMES and no secret, so the var lists the same homes as the secrets. */
async function changeList(live: LiveWorker, closing: Closing): Promise<void> {
  const { list = [], closed } = await live.serving();
  const after = closedAfter(closed, closing);
  if (after.toSorted().join() !== list.toSorted().join()) await live.setText(CLOSED_LIST, after.join(","));
}

/**
 * Makes a secret for each home that an older release closed by the var CLOSED_HOMES. The deployment that follows removes the var. So the
 * homes stay closed all the time, also when that deployment fails.
 *
 * @throws NotDeployed
 */
export async function carryOverClosedHomes(
  live: LiveWorker,
  { list = [], secrets }: ServedVersion,
  io: Io,
): Promise<void> {
  for (const home of list) {
    if (!secrets.includes(closedSecret(home))) await live.setSecret(closedSecret(home), home);
    io.out(`${CLOSED_LIST} closed home ${home}. The secret ${closedSecret(home)} closes it from now on.`);
  }
}
