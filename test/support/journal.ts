import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { Bindings } from "../../src/core/config.ts";
import type { JournalMessage } from "../../src/operators/journal/journal.ts";
import type { Refusal } from "../../src/operators/services/journal.ts";
import { createWorker } from "../../src/worker.ts";
import { databaseOf } from "./homes.ts";
import { keptTelemetry, NOW, runtimeAt } from "./test-runtime.ts";
import type { ReplacedBindings } from "./world.ts";

/** A queue that records the messages of the journal. */
export function keepingJournal() {
  const sent: JournalMessage[] = [];
  const send = async (body: JournalMessage) => void sent.push(structuredClone(body));
  return { sent, rows: () => sent.flatMap(({ refusals }) => refusals), JOURNAL: { send } as unknown as Queue };
}

/** A consumer of the journal's queue. It reports which messages are to come again. */
export class JournalConsumer {
  readonly clock = { now: NOW };
  readonly keptRecords = keptTelemetry();
  /** The random number that decides the order of the homes. */
  chance = () => Math.random();
  readonly #worker = createWorker(
    { ...runtimeAt(() => this.clock.now * 1000), random: () => this.chance() },
    this.keptRecords.telemetry,
  );
  readonly #env: Bindings;

  constructor(bindings: ReplacedBindings = {}) {
    this.#env = { ...env, ...bindings } as Bindings;
  }

  /** Gives a batch to the consumer. @returns the delay in seconds of each message that is to come again, by its place */
  async write(bodies: readonly unknown[], attempts = 1): Promise<Record<number, number>> {
    const redeliveries: Record<number, number> = {};
    const messages = bodies.map((body, i) => ({
      body,
      attempts,
      retry({ delaySeconds = 0 }: QueueRetryOptions = {}) {
        redeliveries[i] = delaySeconds;
      },
    }));
    await this.#worker.queue({ messages } as never, this.#env, createExecutionContext());
    return redeliveries;
  }
}

/** The rows of a site's journal, the oldest first. */
export async function journalOf({ siteId, home }: { siteId: number; home: string }): Promise<Refusal[]> {
  const { results } = await databaseOf(home)
    .prepare(
      `SELECT site_id AS siteId, request_id AS requestId, at, appid, operation, status, reason, detail, secret, client, skipped, violations, drill
       FROM refusals WHERE site_id = ? ORDER BY request_id`,
    )
    .bind(siteId)
    .all<Refusal & { violations: string | null }>();
  return results.map((row) => ({ ...row, violations: JSON.parse(row.violations ?? "null") as Refusal["violations"] }));
}
