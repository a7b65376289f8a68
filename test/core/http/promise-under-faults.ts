import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { type Call, type Fault, Faults, faultyD1, faultyKv } from "../../support/faulty-bindings.ts";
import { startCall, withoutWaiting } from "../../support/patient-fetch.ts";
import { seedSession } from "../../support/seed-session.ts";
import type { Answer, Body, World } from "../../support/world.ts";

/** An operation, and how to count its effect in the store: 0 for none, 1 for one whole effect. Any other count is a broken promise. */
interface TestedOperation {
  operation: "create_gd" | "add_kf";
  /** The meaning of one request. It has its own name, so that tests can share a world. Each call of `body` makes a fresh body to sign. */
  begin: (world: World) => Promise<{ body: () => Body; count: () => Promise<number> }>;
}

async function countCreated(world: World, sbs: string, content: string): Promise<number> {
  const { results } = await env.DB.prepare(
    `SELECT s.id, c.name,
      (SELECT group_concat(agent_id) FROM participants p WHERE p.site_id = s.site_id AND p.session_id = s.id) AS agents,
      (SELECT group_concat(content) FROM messages m WHERE m.site_id = s.site_id AND m.session_id = s.id) AS content
    FROM customers c LEFT JOIN sessions s ON s.site_id = c.site_id AND s.customer_external_id = c.external_id
    WHERE c.site_id = ? AND c.external_id = ?`,
  )
    .bind(world.siteId, sbs)
    .all();
  for (const row of results)
    expect(row).toEqual({ id: expect.any(Number), name: "Customer Name", agents: "2", content });
  return results.length;
}

async function countAdded(world: World, id: number): Promise<number> {
  const { results } = await env.DB.prepare(
    "SELECT agent_id FROM participants WHERE site_id = ? AND session_id = ? ORDER BY agent_id",
  )
    .bind(world.siteId, id)
    .all();
  const agents = results.map((row) => row.agent_id).join();
  expect(agents).toBeOneOf(["", "2,3"]);
  return agents === "" ? 0 : 1;
}

export const SUBJECTS: TestedOperation[] = [
  {
    operation: "create_gd",
    begin: async (world) => {
      const sbs = crypto.randomUUID();
      return {
        body: () => world.createBody({ sbs, content: `Message of ${sbs}` }),
        count: () => countCreated(world, sbs, `Message of ${sbs}`),
      };
    },
  },
  {
    operation: "add_kf",
    begin: async (world) => {
      const id = await seedSession(world);
      return { body: () => world.addBody(id, { kefu_ids: [2, 3] }), count: () => countAdded(world, id) };
    },
  },
];

/** An isolate whose calls of D1 and KV go through `faults`. Plan no fault until the isolate is warm. */
export function isolateWith(world: World, faults: Faults): World {
  return world.anotherIsolate({
    DB: faultyD1(env.DB, faults),
    NONCES: faultyKv(env.NONCES, faults, "NONCES"),
    CREDENTIALS: faultyKv(env.CREDENTIALS, faults, "CREDENTIALS"),
  });
}

/** Sends one request through faults and checks its answers against the promises. */
export class PromiseKeeper {
  readonly #world: World;
  readonly #subject: TestedOperation;
  readonly #warm: World | undefined;
  readonly #faults = new Faults();

  private constructor(world: World, subject: TestedOperation, warm: boolean) {
    this.#world = world;
    this.#subject = subject;
    this.#warm = warm ? isolateWith(world, this.#faults) : undefined;
  }

  /** @param warm whether the isolate has the app's credentials; otherwise neither the isolate nor KV has them */
  static async create(world: World, subject: TestedOperation, warm: boolean): Promise<PromiseKeeper> {
    const keeper = new PromiseKeeper(world, subject, warm);
    await keeper.#warm?.create({ kefu_id: [404], fzr_uid: 404 });
    return keeper;
  }

  async #isolate(): Promise<World> {
    if (this.#warm !== undefined) return this.#warm;
    await env.CREDENTIALS.delete(`app:${this.#world.appid}`);
    return isolateWith(this.#world, this.#faults);
  }

  /** The calls of D1 and KV in one request without faults, including its `waitUntil` work. */
  async calls(headers: Record<string, string>): Promise<string[]> {
    const isolate = await this.#isolate();
    const { body } = await this.#subject.begin(this.#world);
    this.#faults.plan(() => undefined);
    expect((await isolate.send(this.#subject.operation, body(), headers)).status).toBe(200);
    return this.#faults.calls;
  }

  /**
   * Checks that a success is wholly in the store, and that a 503 has Retry-After and a whole effect or none. Then the faults end, late
   * calls do their work, and after a retry with the same key there must be one whole effect.
   */
  async hold(key: string | undefined, plan: (call: Call) => Fault | undefined): Promise<Answer> {
    const headers: Record<string, string> = key === undefined ? {} : { "idempotency-key": key };
    const { operation, begin } = this.#subject;
    const isolate = await this.#isolate();
    const { body, count } = await begin(this.#world);
    const faults = this.#faults;

    faults.plan(plan);
    const call = await startCall(isolate, operation, body(), headers);
    const answer = await withoutWaiting(call.answer, faults);
    const effects = await count();
    expect(answer.status).toBeOneOf([200, 503]);
    expect(answer.envelope.code).toBe(answer.status === 200 ? 1 : -1);
    if (answer.status === 200) expect(effects).toBe(1);
    else {
      expect(effects).toBeOneOf([0, 1]);
      expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    }

    if (key !== undefined) {
      // The retry comes before the late calls do their work. A first try that commits after the retry must not double the effect.
      const retry = await this.#world.send(operation, body(), headers);
      expect(retry.status).toBe(200);
      expect(retry.headers.get("idempotency-replayed")).toBe(effects === 1 ? "true" : null);
      if (answer.status === 200) expect(retry.envelope).toEqual(answer.envelope);
      expect(await count()).toBe(1);
    }
    await faults.end();
    await withoutWaiting(call.rest(), faults);
    const inTheEnd = await count();
    if (key !== undefined || answer.status === 200) expect(inTheEnd).toBe(1);
    else expect(inTheEnd).toBeOneOf([0, 1]);
    return answer;
  }
}
