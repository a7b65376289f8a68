import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { homeOfBinding } from "../../src/core/homes.ts";

const root = join(import.meta.dirname, "../..");
const require = createRequire(import.meta.url);

/** Miniflare's options for the Worker of wrangler.toml, as wrangler makes them. */
type WorkerOptions = Record<string, unknown> & {
  bindings: Record<string, string>;
  d1Databases: Record<string, { id: string }>;
};

/** The bindings of the tests' homes `main` and `apac`, instead of those in wrangler.toml. */
const TEST_HOMES = ["DB", "HOME_APAC"] as const;

/**
 * wrangler's options from wrangler.toml, without secrets, crons and the queue's consumer, which tests do not use, and with
 * {@link TEST_HOMES} in place of the file's homes. Loading wrangler takes over a second, so the options are cached below
 * node_modules until wrangler or its file changes.
 */
export async function workerOptions(config = join(root, "wrangler.toml")): Promise<WorkerOptions> {
  const pkg = readFileSync(require.resolve("wrangler/package.json"));
  const self = readFileSync(import.meta.filename);
  const key = createHash("sha256").update(root).update(self).update(pkg).update(readFileSync(config)).digest("hex");
  const cacheFile = join(root, "node_modules/.cache/agent-session", `worker-${key}.json`);
  try {
    return JSON.parse(readFileSync(cacheFile, "utf8"));
  } catch {
    const options = await readWithWrangler(config);
    mkdirSync(dirname(cacheFile), { recursive: true });
    writeFileSync(cacheFile, JSON.stringify(options));
    return options;
  }
}

async function readWithWrangler(config: string): Promise<WorkerOptions> {
  const { unstable_getMiniflareWorkerOptions } = await import("wrangler");
  const {
    cronTriggers: _,
    queueConsumers: __,
    ...options
  } = unstable_getMiniflareWorkerOptions(config).workerOptions as never as WorkerOptions;
  const others = Object.entries(options.d1Databases).filter(([binding]) => homeOfBinding(binding) === undefined);
  const homes = TEST_HOMES.map((binding) => [binding, { id: binding }] as const);
  return {
    ...options,
    d1Databases: Object.fromEntries([...homes, ...others]),
  };
}
