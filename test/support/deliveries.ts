import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { vi } from "vitest";
import type { Bindings, Notice } from "../../src/core/config.ts";
import type { Runtime } from "../../src/core/runtime.ts";
import { createWorker } from "../../src/worker.ts";
import { databaseOf } from "./homes.ts";
import type { TestWebhook } from "./new-webhook.ts";
import { keptTelemetry, NOW, runtimeAt } from "./test-runtime.ts";
import type { ReplacedBindings } from "./world.ts";

interface PostedEvent {
  url: string;
  headers: Headers;
  body: string;
}

type Receiver = (event: PostedEvent) => Response | Promise<Response>;

interface StoredWebhooks {
  seq: number;
  status: string;
  attempts: number;
  next_attempt_at: number | null;
  claim: string | null;
  last_status: number | null;
  last_error: string | null;
}

/** A Worker that delivers by the test's clock to the test's receiver, and records its messages to the queue and its log. */
export class DeliveringWorker {
  /** Unix seconds. A test may change it. */
  readonly clock = { now: NOW };
  readonly posted: PostedEvent[] = [];
  /** The number of batches sent to the queue. */
  tellings = 0;
  readonly notices: (Notice & { delay: number })[] = [];
  readonly keptRecords = keptTelemetry();
  /** The runtime's random number: 0.5 means no jitter. */
  chance = 0.5;
  /** Milliseconds that are added to those of the machine's clock. */
  elapsedMore = 0;
  /** How much faster timers run than the machine's clock. */
  haste = 1;
  receiver: Receiver = () => new Response();
  readonly env: Bindings;
  readonly #worker;

  constructor(bindings: ReplacedBindings = {}) {
    const sendBatch = async (messages: { body: Notice; delaySeconds?: number }[]) => {
      this.tellings += 1;
      for (const { body, delaySeconds = 0 } of messages) this.notices.push({ ...body, delay: delaySeconds });
    };
    this.env = { ...env, EVENTS: { sendBatch } as never, ...bindings } as Bindings;
    const ownRuntime = runtimeAt(() => this.clock.now * 1000);
    const elapsed = () => ownRuntime.elapsed() + this.elapsedMore;
    const after: Runtime["after"] = (milliseconds, callback) => ownRuntime.after(milliseconds / this.haste, callback);
    const runtime = { ...ownRuntime, elapsed, after, random: () => this.chance };
    this.#worker = createWorker(runtime, this.keptRecords.telemetry);
    vi.stubGlobal("fetch", async (url: string, init: RequestInit) => {
      const event = { url, headers: new Headers(init.headers), body: String(init.body) };
      this.posted.push(event);
      return this.receiver(event);
    });
  }

  /** Gives messages to the consumer, and waits until all work for them is done. */
  async queue(...bodies: unknown[]): Promise<void> {
    const context = createExecutionContext();
    await this.handle(bodies, (work) => context.waitUntil(work));
    await waitOnExecutionContext(context);
  }

  /** Gives messages to the consumer with this `waitUntil`. */
  handle(bodies: unknown[], waitUntil: (work: Promise<unknown>) => void): Promise<void> {
    const messages = bodies.map((body) => ({ body }));
    return this.#worker.queue({ messages } as never, this.env, { waitUntil } as never);
  }

  /** Gives the consumer messages about due deliveries of webhooks. */
  deliver(...webhooks: Pick<TestWebhook, "home" | "siteId" | "id">[]): Promise<void> {
    return this.queue(...webhooks.map(({ home, siteId, id }) => ({ home, site: siteId, webhook: id })));
  }

  scheduled(cron: string): Promise<void> {
    return this.#worker.scheduled({ cron, scheduledTime: this.clock.now * 1000 } as never, this.env);
  }
}

/** The deliveries of a webhook, the oldest first. */
export async function deliveriesOf({ home, siteId, id }: TestWebhook): Promise<StoredWebhooks[]> {
  const { results } = await databaseOf(home)
    .prepare(
      `SELECT seq, status, attempts, next_attempt_at, claim, last_status, last_error FROM deliveries
       WHERE site_id = ? AND webhook_id = ? ORDER BY seq`,
    )
    .bind(siteId, id)
    .all<StoredWebhooks>();
  return results;
}

/** Changes columns of a webhook, for states that a test cannot reach in a short time. */
export async function setWebhook({ home, siteId, id }: TestWebhook, assignments: string): Promise<void> {
  await databaseOf(home)
    .prepare(`UPDATE webhooks SET ${assignments} WHERE site_id = ? AND id = ?`)
    .bind(siteId, id)
    .run();
}

export async function readWebhook({ home, siteId, id }: TestWebhook): Promise<Record<string, unknown>> {
  const row = await databaseOf(home)
    .prepare("SELECT status, disabled_reason, failing_since FROM webhooks WHERE site_id = ? AND id = ?")
    .bind(siteId, id)
    .first<Record<string, unknown>>();
  return row ?? {};
}

export async function setDeliveries({ home, siteId, id }: TestWebhook, assignments: string): Promise<void> {
  await databaseOf(home)
    .prepare(`UPDATE deliveries SET ${assignments} WHERE site_id = ? AND webhook_id = ?`)
    .bind(siteId, id)
    .run();
}

/** Stores events of a site, each with a pending delivery to its webhook, due at NOW. Signed calls would take longer. */
export async function fillDeliveries({ home, siteId, id }: TestWebhook, count: number): Promise<void> {
  const seqs = `WITH RECURSIVE n(seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM n WHERE seq < ${count})`;
  const db = databaseOf(home);
  await db.batch([
    db
      .prepare(
        `INSERT INTO events (site_id, seq, id, type, created_at, data)
         ${seqs} SELECT ?, seq, 'evt_' || seq, 'session.created', ${NOW}, json_object('seq', seq) FROM n WHERE true ON CONFLICT DO NOTHING`,
      )
      .bind(siteId),
    db
      .prepare(
        `INSERT INTO deliveries (site_id, webhook_id, seq, status, attempts, next_attempt_at, created_at)
         ${seqs} SELECT ?, ?, seq, 'pending', 0, ${NOW}, ${NOW} FROM n`,
      )
      .bind(siteId, id),
  ]);
}
