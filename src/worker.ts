import { createApp, systemTelemetry } from "./app.ts";
import { type Config, readConfig } from "./config.ts";
import { type Bindings, readDatabases } from "./core/config.ts";
import { CredentialResolver } from "./core/credentials/resolve-credentials.ts";
import { SESSION_EVENT_TYPES } from "./core/operations/index.ts";
import { type Runtime, systemRuntime } from "./core/runtime.ts";
import { rootOf } from "./core/store/run-batch.ts";
import type { Telemetry } from "./core/telemetry/telemetry.ts";
import { isJournalMessage } from "./operators/journal/journal.ts";
import type { ConsumerMemory } from "./operators/journal/write-journal.ts";
import { CALL_RULES } from "./operators/usage/call-rules.ts";

/** The crons, spelled as in wrangler.toml. */
const SWEEP_CRON = "* * * * *";
const PRUNE_CRON = "*/5 * * * *";

/** The milliseconds for the check whether MASTER_KEY is right. */
const CANARY_MS = 10_000;

/**
 * The handlers that the platform calls, with the memory of one isolate. Code that the first signed request does not need is imported at
 * its first use, because loading costs CPU, and many isolates serve only signed calls.
 *
 * @param runtime   time and chance; the simulator gives its own
 * @param telemetry where log records go
 */
export function createWorker(runtime: Runtime = systemRuntime, telemetry: Telemetry = systemTelemetry) {
  const app = createApp(runtime, telemetry);
  const credentials = new CredentialResolver(runtime, telemetry);
  const journalMemory = { notBefore: new Map<string, number>(), forged: new Map() } satisfies ConsumerMemory;

  async function runPruning(config: Config, now: number): Promise<string[]> {
    const { prune } = await import("./operators/store/pruning/prune.ts");
    const since = runtime.elapsed();
    const settings = { ...config, sessionEventTypes: SESSION_EVENT_TYPES, callRules: CALL_RULES };
    const { removed, faults, next } = await prune(runtime, settings, now);
    const failed = Object.entries(removed).flatMap(([home, tables]) =>
      Object.keys(tables).flatMap((table) => (faults[home]?.[table] === undefined ? [] : `${home}.${table}`)),
    );
    telemetry.job({
      job: "prune",
      outcome: failed.length > 0 ? "failed" : "ok",
      pruned: removed,
      ...(next !== undefined && { next }),
      ...(failed.length > 0 && { not_pruned: faults }),
      ms: Math.round(runtime.elapsed() - since),
    });
    return failed;
  }

  /** Why MASTER_KEY does not open the stored secrets; empty when it does. Makes the canary of this check when there is none. */
  async function unopenedBecause(config: Config, now: number): Promise<string[]> {
    const { keepCanary } = await import("./operators/services/master-key.ts");
    const answerBy = runtime.elapsed() + CANARY_MS;
    try {
      const opens = await keepCanary({ runtime, config, credentials, now, answerBy });
      return opens ? [] : ["MASTER_KEY does not open it"];
    } catch (error) {
      // The error is only reported: pruning goes on in the other homes.
      return [rootOf(error).message];
    }
  }

  async function runSweep(config: Config): Promise<Record<string, string>> {
    const { sweep } = await import("./events/sweep.ts");
    return sweep({ runtime, telemetry, config });
  }

  return {
    fetch: app.fetch,

    /** The messages of the queue EVENTS name webhooks with due deliveries. The messages of JOURNAL hold refused calls. */
    async queue(batch, env, ctx) {
      const { refused, others } = Object.groupBy(batch.messages, ({ body }) =>
        isJournalMessage(body) ? "refused" : "others",
      );
      if (refused !== undefined) {
        const { writeJournal } = await import("./operators/journal/write-journal.ts");
        // This works even while a setting is wrong, because that setting causes the refusals.
        const tools = { runtime, telemetry, config: readDatabases(env), callRules: CALL_RULES };
        await writeJournal(tools, refused, journalMemory);
      }
      if (others === undefined) return;
      const { deliver } = await import("./events/deliver.ts");
      const tools = { runtime, telemetry, config: readConfig(env, telemetry) };
      await deliver(tools, others, (work) => ctx.waitUntil(work));
    },

    /**
     * SWEEP_CRON sweeps overdue deliveries. PRUNE_CRON prunes expired rows and checks whether MASTER_KEY is right. Any other cron does
     * both. Throws when a home failed, or when MASTER_KEY or another setting is wrong, so that Cloudflare shows the run as failed.
     */
    async scheduled({ cron, scheduledTime }, env) {
      const config = readConfig(env, telemetry);
      const unswept = cron === PRUNE_CRON ? {} : await runSweep(config);
      const now = Math.floor(scheduledTime / 1000);
      const unopened = cron === SWEEP_CRON ? [] : await unopenedBecause(config, now);
      const unpruned = cron === SWEEP_CRON ? [] : await runPruning(config, now);
      const failed = Object.entries({
        "not swept": Object.keys(unswept),
        "not pruned": unpruned,
        "what is sealed": unopened,
      })
        .filter(([, names]) => names.length > 0)
        .map(([what, names]) => `${what}: ${names.join(", ")}`);
      if (failed.length > 0) throw new Error(failed.join("; "));
    },
  } satisfies ExportedHandler<Bindings>;
}
