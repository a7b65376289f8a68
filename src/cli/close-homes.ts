import { basename } from "node:path";
import { namesIn } from "../homes.ts";
import { NotDeployed } from "./create-databases.ts";
import { type ConfigPart, prepareVar } from "./edit-config.ts";
import { type Closing, closedAfter } from "./home-options.ts";
import type { Io } from "./io.ts";
import type { LiveWorker } from "./live-worker.ts";

const VAR = "CLOSED_HOMES";

/**
 * Closes and opens homes of the deployed Worker: its var CLOSED_HOMES gets another value, and so does the configuration file, for later
 * deployments. The code stays. No database is asked, because one may be broken now.
 *
 * @param before the homes that the file closes
 * @param homes  all homes of the file
 * @throws NotDeployed NotEditable
 */
export async function closeHomes(
  live: LiveWorker,
  asked: Closing,
  { before, homes, target }: { before: readonly string[]; homes: readonly string[]; target: ConfigPart },
  io: Io,
): Promise<void> {
  // The deployed value decides, not the file's: a colleague may have closed a home from another checkout.
  const serving = namesIn(await live.textOf(VAR));
  const after = closedAfter(serving, asked);
  const written = after.filter((home) => homes.includes(home));
  const file = basename(target.file);
  if (!isSame(written, before)) {
    (await prepareVar(target, VAR, written.join(",")))();
    io.out(`Wrote ${VAR} = "${written.join(",")}" in ${file}. Commit it.`);
  }
  if (!isSame(after, serving)) {
    try {
      await live.setText(VAR, after.join(","));
    } catch (error) {
      if (!(error instanceof NotDeployed)) throw error;
      throw new NotDeployed(`${error.message}\n\n${byDeployment(file, target.env)}`);
    }
  }
  for (const home of asked.open) io.out(`Home ${home} is open${serving.includes(home) ? "" : ", as it was"}.`);
  for (const home of after) {
    const was = serving.includes(home) ? ", as it was" : "";
    io.out(`Home ${home} is closed${was}: its sites answer 503 until npm run deploy -- --open ${home}.`);
  }
}

const byDeployment = (file: string, env: string) =>
  `What serves may be unchanged; ${file} has the new ${VAR} already. A deployment does it too. Check out the release that serves,
write the same ${VAR} there, and deploy it. This migrates nothing:

  npx wrangler deploy --env ${env === "" ? '""' : env}`;

const isSame = (a: readonly string[], b: readonly string[]) =>
  a.length === b.length && a.every((each) => b.includes(each));
