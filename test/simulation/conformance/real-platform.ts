import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { workerOptions } from "../../support/worker-options.ts";
import type { Cases, Outcome } from "./case.ts";
import { d1Cases, kvCases, queueCases, serviceCases } from "./cases/index.ts";
import type { ListName } from "./worker.ts";

export interface RealPlatform {
  /**
   * The results of a list's cases in workerd. A list runs only once, because afterwards its databases are no longer
   * empty.
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
      modules: [{ type: "ESModule", path: "worker.js", contents: await bundled() }],
      modulesRoot: ".",
      compatibilityDate: String(compatibilityDate),
      compatibilityFlags: compatibilityFlags as string[],
      bindings: { MIGRATIONS: migrations },
      d1Databases: { ...oneForEach("D1", d1Cases), ...oneForEach("SERVICE", serviceCases) },
      kvNamespaces: oneForEach("KV", kvCases),
      queueProducers: Object.fromEntries(
        Object.entries(oneForEach("QUEUE", queueCases)).map(([binding], place) => [binding, `queue-${place}`]),
      ),
      queueConsumers: Object.fromEntries(
        Object.keys(queueCases).map((_, place) => [
          `queue-${place}`,
          { maxBatchSize: 6, maxBatchTimeout: 0, maxRetries: 3 },
        ]),
      ),
      ratelimits: {
        TWO: { namespace_id: "2", simple: { limit: 2, period: 10 } },
        THREE: { namespace_id: "3", simple: { limit: 3, period: 60 } },
      },
      unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
      cf: false,
      resourcePersistencePath: folder,
      // workerd logs a warning about a case that breaks a deferred foreign key on purpose.
      handleStructuredLogs: () => {},
    }),
  );
  await miniflare.ready;
  const url = await miniflare.unsafeGetDirectURL();
  const runs: Partial<Record<ListName, Promise<Response>>> = {};
  return {
    async outcomes(list) {
      runs[list] ??= fetch(new URL(list, url));
      const answer = (await runs[list]).clone();
      if (!answer.ok) throw new Error(await answer.text());
      return (await answer.json()) as Record<string, Outcome>;
    },
    async close() {
      await miniflare.dispose();
      rmSync(folder, { recursive: true });
    },
  };
}

const oneForEach = (prefix: string, cases: Cases<never>): Record<string, string> =>
  Object.fromEntries(Object.keys(cases).map((_, place) => [`${prefix}_${place}`, `${prefix}_${place}`]));

async function bundled(): Promise<string> {
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
