import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { workerOptions } from "../../support/worker-options.ts";
import type { Outcome } from "./case.ts";
import { LISTS, type ListName } from "./cases/index.ts";

export interface RealPlatform {
  /**
   * The results of a list's cases in workerd. A list may run only once, because its databases are not empty afterwards.
   */
  outcomes: (list: ListName) => Promise<Record<string, Outcome>>;
  close: () => Promise<void>;
}

/** Starts worker.ts in its own workerd, with an empty database or namespace for each case. */
export async function startRealPlatform(migrations: string[]): Promise<RealPlatform> {
  const { compatibilityDate, compatibilityFlags } = await workerOptions();
  // In memory if the system has /dev/shm: on a disk, thousands of commits take six times as long.
  const folder = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "agent-session-conformance-"));
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      modules: [{ type: "ESModule", path: "worker.js", contents: await bundledWorker() }],
      modulesRoot: ".",
      compatibilityDate: String(compatibilityDate),
      compatibilityFlags: compatibilityFlags as string[],
      bindings: { MIGRATIONS: migrations },
      d1Databases: Object.fromEntries([...oneForEach("d1", "D1_"), ...oneForEach("service", "SERVICE_")]),
      kvNamespaces: Object.fromEntries(oneForEach("kv", "KV_")),
      queueProducers: Object.fromEntries(oneForEach("queue", "QUEUE_", "queue-")),
      queueConsumers: Object.fromEntries(
        oneForEach("queue", "queue-").map(([name]) => [name, { maxBatchSize: 6, maxBatchTimeout: 0, maxRetries: 3 }]),
      ),
      ratelimits: {
        TWO: { namespace_id: "2", simple: { limit: 2, period: 10 } },
        THREE: { namespace_id: "3", simple: { limit: 3, period: 60 } },
      },
      unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
      cf: false,
      resourcePersistencePath: folder,
    }),
  );
  await miniflare.ready;
  const url = await miniflare.unsafeGetDirectURL();
  return {
    async outcomes(list) {
      const answer = await fetch(new URL(list, url));
      if (!answer.ok) throw new Error(await answer.text());
      return (await answer.json()) as Record<string, Outcome>;
    },
    async close() {
      await miniflare.dispose();
      rmSync(folder, { recursive: true });
    },
  };
}

/** The name of a binding for each case of a list, and the name of the resource that it is bound to. */
const oneForEach = (list: ListName, prefix: string, bound = prefix): [string, string][] =>
  Object.keys(LISTS[list]).map((_, place) => [`${prefix}${place}`, `${bound}${place}`]);

async function bundledWorker(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, "worker.ts")],
    bundle: true,
    write: false,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
  });
  return outputFiles[0]?.text ?? "";
}
