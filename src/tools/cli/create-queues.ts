import { NotDeployed } from "./create-databases.ts";
import type { Io } from "./io.ts";

/** The queues of a configuration, as wrangler reads them. */
interface Queues {
  producers?: readonly { queue?: string }[] | undefined;
  consumers?: readonly { queue: string }[] | undefined;
}

interface Consumer {
  type: string;
  script?: string;
  service?: string;
}

/** Cloudflare's errors for an account that may not use queues: its plan has none, or they are not switched on. */
const NOT_ALLOWED = /\[code: (100129|11002|10023)\]/;

/**
 * Creates the queues that do not exist yet.
 *
 * @param worker the consumer of the queues. A queue has only one consumer
 * @param shared options that choose the account
 * @throws NotDeployed
 */
export async function createQueues(
  { producers = [], consumers = [] }: Queues,
  worker: string,
  shared: readonly string[],
  io: Io,
): Promise<void> {
  const names = new Set([...producers, ...consumers].flatMap(({ queue }) => queue ?? []));
  for (const queue of names) {
    const currentConsumers = await consumersOf(queue, shared, io);
    if (currentConsumers === undefined) {
      await create(queue, shared, io);
      continue;
    }
    const foreignConsumer = currentConsumers.find(
      ({ type, script, service }) => type !== "worker" || (script ?? service) !== worker,
    );
    if (foreignConsumer !== undefined && consumers.some((each) => each.queue === queue))
      throw queueHasReader(queue, foreignConsumer, worker);
  }
}

/** @returns undefined when there is no such queue */
async function consumersOf(queue: string, shared: readonly string[], io: Io): Promise<Consumer[] | undefined> {
  const listed = await io.wrangler(["queues", "consumer", "list", queue, "--json", ...shared]);
  if (listed.exitCode === 0) return JSON.parse(listed.stdout) as Consumer[];
  if (listed.output.includes(`Queue "${queue}" does not exist`)) return undefined;
  throw new NotDeployed(
    `The account could not be asked for its queues:\n${listed.output}${permissionAdvice(listed.output)}`,
  );
}

async function create(queue: string, shared: readonly string[], io: Io): Promise<void> {
  const { exitCode, output } = await io.wrangler(["queues", "create", queue, ...shared]);
  if (exitCode !== 0)
    throw new NotDeployed(`Queue ${queue} could not be created:\n${output}${permissionAdvice(output)}`);
  io.out(`Created queue ${queue}.`);
}

function permissionAdvice(output: string): string {
  if (NOT_ALLOWED.test(output)) {
    return "Nothing was deployed. Webhooks need Cloudflare Queues, which this account may not use: switch them on in the dashboard (Workers, Queues), or choose a plan that has them.";
  }
  // These are the errors for an API token without the permission.
  if (!/\[code: (10000|9109)\]/.test(output)) return "";
  return "Nothing was deployed. The API token needs the permission Queues: Edit.";
}

function queueHasReader(queue: string, { type, script, service }: Consumer, worker: string): NotDeployed {
  const [currentReader, remove] =
    type === "worker"
      ? [`the Worker ${script ?? service}`, `worker remove ${queue} ${script ?? service}`]
      : ["a pull consumer", `http remove ${queue}`];
  return new NotDeployed(`Nothing was deployed: queue ${queue} is read by ${currentReader}, and a queue has one reader, here ${worker}.
Give [[queues.producers]] and [[queues.consumers]] another queue in wrangler.toml. Or, when ${currentReader} needs it no more:

  npx wrangler queues consumer ${remove}`);
}
