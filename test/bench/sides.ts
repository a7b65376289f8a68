import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createBatchText } from "./batch-text.ts";
import { APP } from "./bench-app.ts";
import { bundleBenchWorker, type ProductionBundle, ROOT } from "./production-bundle.ts";
import {
  benchModule,
  insertApp,
  issueApp,
  type RunningWorker,
  startWorker,
  type WorkerModule,
} from "./start-worker.ts";

/**
 * The Workers that are compared, each in its own workerd:
 * - production: the bundle that would be deployed;
 * - careful: what a good engineer would write without the claim in a single batch;
 * - floor: the production batch and nothing around it.
 */
export const SIDES = ["production", "careful", "floor"] as const;
export type BenchSide = (typeof SIDES)[number];

/** Binds the rate limits in front of the module `worker.js`. */
export const limited = (): WorkerModule[] => [benchModule("limited-worker.ts"), benchModule("counter-limit.ts")];

/** Starts one Worker with its rate limits and the bench's app. */
export async function startSide(
  bundle: ProductionBundle,
  side: BenchSide,
  front: WorkerModule[] = limited(),
): Promise<RunningWorker> {
  const modules = [...front, { name: "worker.js", code: codeOf(bundle, side) }];
  const bindings = side === "floor" ? { BATCH: createBatchText(), APP } : {};
  const running = await startWorker(bundle, modules, { bindings });
  if (side === "production") await issueApp(running.url);
  else {
    await insertApp(running.db);
    await storeForCareful(running.credentials);
  }
  return running;
}

/** Stores the app in the form that the careful Worker reads. */
export async function storeForCareful(credentials: KVNamespace): Promise<void> {
  await credentials.put(`peer:${APP.appid}`, JSON.stringify({ secret: APP.secret, siteId: APP.siteId }));
}

/** The Worker of the last release, as `npm run release` stored it. */
export const lastRelease = (): string => readFileSync(join(ROOT, "test/last-release/worker.js"), "utf8");

let careful: string | undefined;

export function carefulCode(): string {
  careful ??= bundleBenchWorker("careful-worker.ts");
  return careful;
}

function codeOf(bundle: ProductionBundle, side: BenchSide): string {
  if (side === "production") return bundle.code;
  return side === "careful" ? carefulCode() : benchModule("floor-worker.ts").code;
}
