import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { learn, newTarget } from "../../src/events/target.ts";
import {
  DeliveringWorker,
  deliveriesOf,
  fillDeliveries,
  readWebhook,
  setDeliveries,
  setWebhook,
} from "../support/deliveries.ts";
import { eventually } from "../support/eventually.ts";
import { newWebhook, type TestWebhook } from "../support/new-webhook.ts";
import { replacing } from "../support/replacing.ts";
import { NOW, World } from "../support/world.ts";

afterEach(() => vi.unstubAllGlobals());
/** Some receivers hang until the test lets them answer, and the others answer at once. */
class Receivers {
  readonly #hanging: { url: string; end: (status: number) => void }[] = [];

  constructor(worker: DeliveringWorker, hang: (url: string) => boolean) {
    worker.receiver = ({ url }) => {
      if (!hang(url)) return new Response();
      return new Promise((resolve) => {
        this.#hanging.push({ url, end: (status) => resolve(new Response(null, { status })) });
      });
    };
  }

  inFlight(...webhooks: TestWebhook[]): number {
    return this.#hanging.filter(({ url }) => webhooks.some((each) => each.url === url)).length;
  }

  end(status: number): void {
    for (const { end } of this.#hanging.splice(0)) end(status);
  }
}

/** A Worker whose first lease is made, but the answer is lost. @param meanwhile runs before the second try */
function workerOfTwoTries(meanwhile: () => Promise<unknown>): DeliveringWorker {
  let batches = 0;
  const batch = async (statements: D1PreparedStatement[]) => {
    const results = await env.DB.batch(statements);
    if (++batches > 1) return results;
    await meanwhile();
    throw new Error("D1_ERROR: Network connection lost.");
  };
  return new DeliveringWorker({ DB: replacing(env.DB, { batch }) });
}

const areDelivered = (webhooks: TestWebhook[]) =>
  eventually(async () => {
    for (const webhook of webhooks) {
      expect((await deliveriesOf(webhook)).filter(({ status }) => status !== "delivered")).toEqual([]);
    }
  });

async function webhooksOf(
  count: number,
  due: number,
  columns: Record<string, number | null> = {},
): Promise<TestWebhook[]> {
  const world = await World.create();
  const webhooks = await Promise.all(Array.from({ length: count }, () => newWebhook(world, columns)));
  await Promise.all(webhooks.map((webhook) => fillDeliveries(webhook, due)));
  return webhooks;
}

/** Ends all hanging requests again and again until the invocation has ended. */
async function finish(delivering: Promise<unknown>, receivers: Receivers, status: number): Promise<void> {
  const ending = setInterval(() => receivers.end(status), 5);
  await delivering;
  clearInterval(ending);
}

const FAILING = { failing_since: NOW - 60 };

describe("the places of an invocation", () => {
  it("one site gets half of the places of an invocation while another site waits", async () => {
    const [greedy, modest] = [await webhooksOf(10, 3), await webhooksOf(4, 3)];
    const worker = new DeliveringWorker();
    const receivers = new Receivers(worker, (url) => greedy.some((each) => each.url === url));
    const delivering = worker.deliver(...greedy, ...modest);
    await areDelivered(modest);
    const begunFor = (webhooks: TestWebhook[]) => (url: string) => webhooks.some((each) => each.url === url);
    const urls = worker.posted.map(({ url }) => url);
    // Before the last post of the modest site, the greedy site began three posts.
    const lastOfModest = urls.findLastIndex(begunFor(modest));
    expect(urls.slice(0, lastOfModest).filter(begunFor(greedy))).toHaveLength(3);
    await finish(delivering, receivers, 200);
  });

  it("the first site gets at most three places, however long the other site waits", async () => {
    const [greedy, hanging] = [await webhooksOf(10, 3), await webhooksOf(4, 3)];
    const worker = new DeliveringWorker();
    const receivers = new Receivers(worker, () => true);
    const delivering = worker.deliver(...greedy, ...hanging);
    await eventually(() => expect(receivers.inFlight(...greedy, ...hanging)).toBe(6));
    expect([receivers.inFlight(...greedy), receivers.inFlight(...hanging)]).toEqual([3, 3]);
    await finish(delivering, receivers, 200);
  });

  it("all failing webhooks together get two places, whether they are many or one", async () => {
    // With six or fewer webhooks, the first batch does not know yet that they fail.
    for (const [count, due] of [
      [10, 3],
      [6, 3],
      [1, 9],
    ] as const) {
      const failing = await webhooksOf(count, due, FAILING);
      const worker = new DeliveringWorker();
      const receivers = new Receivers(worker, () => true);
      const delivering = worker.deliver(...failing);
      await eventually(() => expect(receivers.inFlight(...failing)).toBe(2));
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect(receivers.inFlight(...failing)).toBe(2);
      worker.elapsedMore = 9_000;
      await finish(delivering, receivers, 503);
    }
  });

  it("webhooks that begin to fail during an invocation get two places", async () => {
    for (const failing of [await webhooksOf(6, 3), [...(await webhooksOf(5, 3)), ...(await webhooksOf(5, 3))]]) {
      const worker = new DeliveringWorker();
      const postedUrls = new Set<string>();
      const receivers = new Receivers(worker, (url) => postedUrls.has(url));
      const hanging = worker.receiver;
      worker.receiver = (posted) => {
        if (postedUrls.has(posted.url)) return hanging(posted);
        postedUrls.add(posted.url);
        return new Response(null, { status: 503 });
      };
      const delivering = worker.deliver(...failing);
      await eventually(() => expect(receivers.inFlight(...failing)).toBe(2));
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect(receivers.inFlight(...failing)).toBe(2);
      worker.elapsedMore = 9_000;
      await finish(delivering, receivers, 503);
    }
  });

  it("healthy webhooks get four places while ten other webhooks hang", async () => {
    const [failing, healthy] = [await webhooksOf(10, 5, FAILING), await webhooksOf(9, 3)];
    const worker = new DeliveringWorker();
    const receivers = new Receivers(worker, (url) => failing.some((each) => each.url === url));
    const delivering = worker.deliver(...failing, ...healthy);
    await areDelivered(healthy.slice(0, 5));
    expect(receivers.inFlight(...failing)).toBe(2);
    worker.elapsedMore = 9_000;
    await finish(delivering, receivers, 503);
    // There is a notice for each webhook that still has due deliveries.
    const waiting = await Promise.all(
      [...failing, ...healthy].map(async (webhook) => ({
        id: webhook.id,
        due: (await deliveriesOf(webhook)).some(
          ({ status, next_attempt_at }) => status === "pending" && (next_attempt_at ?? 0) <= NOW,
        ),
      })),
    );
    const notifiedIds = new Set(worker.notices.map(({ webhook }) => webhook));
    expect(waiting.filter(({ id, due }) => due && !notifiedIds.has(id))).toEqual([]);
  });

  it.each([
    ["have not answered yet", { slow: null }],
    ["answered their newest delivery after 14 s", { slow: 1 }],
  ])(
    "a sound webhook's events are posted without delay beside ten webhooks of each of six sites that %s",
    async (_, columns) => {
      const hanging = (await Promise.all([1, 2, 3, 4, 5, 6].map(() => webhooksOf(10, 3, columns)))).flat();
      const sound = await webhooksOf(1, 12);
      const worker = new DeliveringWorker();
      const receivers = new Receivers(worker, (url) => hanging.some((each) => each.url === url));
      const delivering = worker.deliver(...hanging, ...sound);
      await areDelivered(sound);
      expect(receivers.inFlight(...hanging)).toBe(2);
      worker.elapsedMore = 9_000;
      await finish(delivering, receivers, 200);
    },
  );

  it("failing webhooks get places before a new webhook whose attempt has just failed", async () => {
    const [failing, newHooks] = [await webhooksOf(7, 1, FAILING), await webhooksOf(1, 3, { slow: null })];
    const worker = new DeliveringWorker();
    const receivers = new Receivers(worker, (url) => failing.some((each) => each.url === url));
    const hanging = worker.receiver;
    worker.receiver = (posted) =>
      posted.url === newHooks[0]?.url ? new Response(null, { status: 503 }) : hanging(posted);
    const delivering = worker.deliver(...failing, ...newHooks);
    await eventually(() => expect(receivers.inFlight(...failing)).toBe(2));
    expect(worker.posted.filter(({ url }) => url === newHooks[0]?.url)).toHaveLength(1);
    worker.elapsedMore = 9_000;
    await finish(delivering, receivers, 503);
  });

  it("a webhook is judged by the result of an attempt here, not by a row that was read before the result", () => {
    const target = { ...newTarget("main", 1, "wh_1"), isSuspect: false, isNew: false, unrecorded: 1 };
    learn(target, { isSuspect: 1, isNew: 1, nextDue: NOW });
    expect(target).toMatchObject({ isSuspect: false, isNew: false });
  });

  it("webhooks that were quick until now may hold all places, and another invocation serves the others after 8 s", async () => {
    const hanging = (await Promise.all([1, 2, 3, 4, 5, 6].map(() => webhooksOf(10, 3)))).flat();
    const sound = await webhooksOf(1, 12);
    const worker = new DeliveringWorker();
    const receivers = new Receivers(worker, (url) => hanging.some((each) => each.url === url));
    const delivering = worker.deliver(...hanging, ...sound);
    await eventually(() => expect(receivers.inFlight(...hanging)).toBe(6));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect((await deliveriesOf(sound[0] as TestWebhook)).filter(({ status }) => status === "delivered")).toEqual([]);
    worker.elapsedMore = 9_000;
    await finish(delivering, receivers, 503);
    expect(worker.notices).toContainEqual(expect.objectContaining({ webhook: sound[0]?.id, delay: 0 }));
  });

  it("a webhook gets two places until it answers within 10 s, and again after a slower answer", async () => {
    const [webhook] = (await webhooksOf(1, 40, { slow: null })) as [TestWebhook];
    const worker = new DeliveringWorker();
    const receivers = new Receivers(worker, () => true);
    for (let times = 0; times < 2; times++) {
      const delivering = worker.deliver(webhook);
      await eventually(() => expect(receivers.inFlight(webhook)).toBe(2));
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect(receivers.inFlight(webhook)).toBe(2);
      receivers.end(200);
      await eventually(() => expect(receivers.inFlight(webhook)).toBe(6));
      worker.elapsedMore += 10_100;
      await finish(delivering, receivers, 200);
    }
    expect((await deliveriesOf(webhook)).filter(({ status }) => status === "delivered")).toHaveLength(16);
  });

  it("failing webhooks that the first batch left out get places as soon as some are free", async () => {
    const failing = await webhooksOf(6, 1, FAILING);
    const worker = new DeliveringWorker();
    await worker.deliver(...failing);
    await areDelivered(failing);
  });

  it("webhooks without due deliveries hold no places", async () => {
    const [idle, busy] = [await webhooksOf(20, 1), await webhooksOf(1, 6)];
    for (const webhook of idle) await setDeliveries(webhook, "status = 'delivered', next_attempt_at = NULL");
    const statements: number[] = [];
    const batch = (all: D1PreparedStatement[]) => {
      statements.push(all.length);
      return env.DB.batch(all);
    };
    const worker = new DeliveringWorker({ DB: replacing(env.DB, { batch }) });
    const receivers = new Receivers(worker, () => true);
    const delivering = worker.deliver(...idle, ...busy);
    await eventually(() => expect(receivers.inFlight(...busy)).toBe(6));
    // The batch has one lease, and the read of the leased deliveries.
    expect(statements).toEqual([2]);
    await finish(delivering, receivers, 200);
  });

  it("an invocation with a place for each webhook takes the places after one trip to the database", async () => {
    const webhooks = [...(await webhooksOf(3, 1)), ...(await webhooksOf(3, 1))];
    const counts = { batches: 0, inBatches: 0, prepared: 0 };
    const DB = replacing(env.DB, {
      batch: (statements: D1PreparedStatement[]) => {
        counts.batches += 1;
        counts.inBatches += statements.length;
        return env.DB.batch(statements);
      },
      prepare: (query: string) => {
        counts.prepared += 1;
        return env.DB.prepare(query);
      },
    });
    const worker = new DeliveringWorker({ DB });
    const receivers = new Receivers(worker, () => true);
    const delivering = worker.deliver(...webhooks);
    await eventually(() => expect(receivers.inFlight(...webhooks)).toBe(6));
    expect(counts.batches).toBe(1);
    expect(counts.inBatches).toBe(counts.prepared);
    await finish(delivering, receivers, 200);
    await areDelivered(webhooks);
  });

  it("an invocation makes no needless batch while failing webhooks wait for a place", async () => {
    const [failing, healthy] = [await webhooksOf(4, 1, FAILING), await webhooksOf(1, 1)];
    let batches = 0;
    const batch = (statements: D1PreparedStatement[]) => {
      batches += 1;
      return env.DB.batch(statements);
    };
    const worker = new DeliveringWorker({ DB: replacing(env.DB, { batch }) });
    const receivers = new Receivers(worker, () => true);
    const delivering = worker.deliver(...failing, ...healthy);
    await eventually(() => expect(receivers.inFlight(...failing, ...healthy)).toBe(3));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(batches).toBe(1);
    worker.elapsedMore = 9_000;
    await finish(delivering, receivers, 503);
  });
});

describe("a backlog", () => {
  it("a backlog has 20 attempts in flight within seconds, because messages ask other invocations for help", async () => {
    const [backlog] = (await webhooksOf(1, 40)) as [TestWebhook];
    const worker = new DeliveringWorker();
    worker.haste = 20;
    const receivers = new Receivers(worker, () => true);
    const delivering = [worker.deliver(backlog)];
    for (const inFlight of [6, 12, 18, 20]) {
      await eventually(() => expect(receivers.inFlight(backlog)).toBe(inFlight));
      if (inFlight === 20) break;
      worker.elapsedMore += 1_000;
      await eventually(() => expect(worker.notices).toHaveLength(delivering.length));
      delivering.push(worker.deliver(backlog));
    }
    worker.elapsedMore += 2_000;
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(worker.notices).toHaveLength(3);
    worker.elapsedMore += 9_000;
    await finish(Promise.all(delivering), receivers, 200);
  });

  it("a backlog causes no message for help when the receiver answers at once", async () => {
    const [backlog] = (await webhooksOf(1, 18)) as [TestWebhook];
    const worker = new DeliveringWorker();
    await worker.deliver(backlog);
    expect(worker.posted).toHaveLength(18);
    expect(worker.notices).toEqual([]);
  });

  it("a failing webhook's backlog causes a message for help too, and the help begins untried deliveries", async () => {
    const [backlog] = (await webhooksOf(1, 50, FAILING)) as [TestWebhook];
    const worker = new DeliveringWorker();
    worker.haste = 20;
    const receivers = new Receivers(worker, () => true);
    const delivering = [worker.deliver(backlog)];
    await eventually(() => expect(receivers.inFlight(backlog)).toBe(2));
    worker.elapsedMore = 1_000;
    await eventually(() => expect(worker.notices).toMatchObject([{ webhook: backlog.id, delay: 0 }]));
    delivering.push(worker.deliver(backlog));
    await eventually(() => expect(receivers.inFlight(backlog)).toBe(3));
    worker.elapsedMore = 9_000;
    await finish(Promise.all(delivering), receivers, 503);
  });
});

describe("of the three places of a failing webhook", () => {
  it("one of the three places of a failing webhook is for an untried event, however many retries are due", async () => {
    // Retries are due long before the newest event.
    const [webhook] = (await webhooksOf(1, 50, FAILING)) as [TestWebhook];
    await setDeliveries(
      webhook,
      `attempts = iif(seq = 50, 0, 3), next_attempt_at = ${NOW} + iif(seq = 50, 9, seq - 900)`,
    );
    const worker = new DeliveringWorker();
    const receivers = new Receivers(worker, () => true);
    const delivering = [worker.deliver(webhook), worker.deliver(webhook)];
    await eventually(() => expect(receivers.inFlight(webhook)).toBe(2));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(receivers.inFlight(webhook)).toBe(2);
    worker.clock.now = NOW + 9;
    delivering.push(worker.deliver(webhook));
    await eventually(() => expect(receivers.inFlight(webhook)).toBe(3));
    expect(worker.posted.map(({ headers }) => headers.get("webhook-id"))).toEqual(["evt_1", "evt_2", "evt_50"]);
    worker.elapsedMore = 9_000;
    await finish(Promise.all(delivering), receivers, 503);
  });
});

describe("a retry", () => {
  it("the queue is notified of a retry even when its attempt ends during another webhook's batch", async () => {
    const world = await World.create();
    const [failing, other] = [await newWebhook(world), await newWebhook(world)];
    await fillDeliveries(failing, 1);
    await fillDeliveries(other, 2);
    let isSlow = false;
    let fail = () => {};
    const batch = async (statements: D1PreparedStatement[]) => {
      const results = await env.DB.batch(statements);
      // The failure comes after this batch has read the webhook's next due time, and before the batch's answer.
      if (isSlow) {
        isSlow = false;
        fail();
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      return results;
    };
    const worker = new DeliveringWorker({ DB: replacing(env.DB, { batch }) });
    let others = 0;
    worker.receiver = ({ url }) => {
      if (url === failing.url) {
        return new Promise((resolve) => (fail = () => resolve(new Response(null, { status: 503 }))));
      }
      if (++others === 1) isSlow = true;
      return new Response();
    };
    // There is a place for each webhook. So the batch during which the failing attempt ends asks for the failing webhook again.
    await worker.deliver(failing, other);
    expect(await deliveriesOf(failing)).toMatchObject([{ status: "pending", next_attempt_at: NOW + 5 }]);
    expect(worker.notices).toEqual([{ home: "main", site: world.siteId, webhook: failing.id, delay: 5 }]);
  });
});

describe("a ping", () => {
  /** A failing webhook with a backlog. Hanging attempts have taken all its places. */
  async function hanging() {
    const [webhook] = (await webhooksOf(1, 60, FAILING)) as [TestWebhook];
    await setDeliveries(
      webhook,
      `claim = CASE WHEN seq < 4 THEN 'held' END, next_attempt_at = CASE WHEN seq < 4 THEN ${NOW + 60} ELSE ${NOW - 9} END`,
    );
    return webhook;
  }

  const addPing = async ({ siteId, id }: TestWebhook) => {
    await env.DB.batch([
      env.DB.prepare(
        "INSERT INTO events (site_id, seq, id, type, created_at, data) VALUES (?, 99, 'evt_99', 'ping', 0, '{}')",
      ).bind(siteId),
      env.DB.prepare(
        "INSERT INTO deliveries (site_id, webhook_id, seq, status, attempts, next_attempt_at, created_at) VALUES (?, ?, 99, 'pending', 0, 0, 0)",
      ).bind(siteId, id),
    ]);
  };

  it("a ping is posted first, even when the webhook has the most attempts in flight", async () => {
    const webhook = await hanging();
    const worker = new DeliveringWorker();
    await worker.deliver(webhook);
    expect(worker.posted).toEqual([]);
    await addPing(webhook);
    await worker.deliver(webhook);
    expect(worker.posted.map(({ headers }) => headers.get("webhook-id"))).toEqual(["evt_99"]);
  });

  it("a ping is posted before the events of webhooks that wait for a place", async () => {
    const [failing, healthy, webhook] = [await webhooksOf(5, 3, FAILING), await webhooksOf(12, 3), await hanging()];
    await addPing(webhook);
    const worker = new DeliveringWorker();
    const receivers = new Receivers(worker, () => true);
    const delivering = worker.deliver(...failing, ...healthy, webhook);
    await eventually(() => expect(receivers.inFlight(...failing, ...healthy, webhook)).toBe(6));
    expect(receivers.inFlight(webhook)).toBe(1);
    expect(receivers.inFlight(...failing)).toBeLessThanOrEqual(2);
    worker.elapsedMore = 9_000;
    await finish(delivering, receivers, 503);
  });

  it("a ping that is sent again while it is in flight is tried once more when it fails", async () => {
    const webhook = await hanging();
    await addPing(webhook);
    const worker = new DeliveringWorker();
    worker.receiver = async () => {
      if (worker.posted.length === 1) await setDeliveries(webhook, "attempts = iif(seq = 99, 0, attempts)");
      return new Response(null, { status: 503 });
    };
    await worker.deliver(webhook);
    expect(worker.posted.map(({ headers }) => headers.get("webhook-id"))).toEqual(["evt_99", "evt_99"]);
    expect((await deliveriesOf(webhook)).at(-1)).toMatchObject({ seq: 99, status: "failed", attempts: 1 });
  });

  it("a ping that is sent again between two tries of its lease is tried once more when it fails", async () => {
    const webhook = await hanging();
    await addPing(webhook);
    const worker = workerOfTwoTries(() => setDeliveries(webhook, "attempts = iif(seq = 99, 0, attempts)"));
    worker.receiver = () => new Response(null, { status: 503 });
    await worker.deliver(webhook);
    expect(worker.posted.map(({ headers }) => headers.get("webhook-id"))).toEqual(["evt_99", "evt_99"]);
    expect((await deliveriesOf(webhook)).at(-1)).toMatchObject({ seq: 99, status: "failed", attempts: 1 });
  });

  it.each([200, 410, 500])(
    "a ping that is answered %i is tried once and does not change the webhook's health",
    async (status) => {
      const webhook = await hanging();
      await addPing(webhook);
      const before = await readWebhook(webhook);
      const worker = new DeliveringWorker();
      worker.receiver = () => new Response(null, { status });
      await worker.deliver(webhook);
      expect(worker.posted).toHaveLength(1);
      expect((await deliveriesOf(webhook)).at(-1)).toMatchObject({
        status: status === 200 ? "delivered" : "failed",
        attempts: 1,
        next_attempt_at: null,
        last_status: status,
      });
      expect(await readWebhook(webhook)).toEqual(before);
      expect(before).toMatchObject({ status: "enabled", failing_since: NOW - 60 });
    },
  );
});

describe("a delivery that is sent again while its attempt is in flight", () => {
  it.each([503, 410])(
    "a delivery that is sent again between two tries of its lease, and answered %i, starts a new series of attempts",
    async (status) => {
      const [webhook] = (await webhooksOf(1, 1)) as [TestWebhook];
      await setDeliveries(webhook, "attempts = 3");
      const worker = workerOfTwoTries(() => setDeliveries(webhook, "attempts = 0"));
      worker.receiver = async () => {
        // A 410 from the old URL does not count for a new URL.
        await setWebhook(webhook, "url = 'https://hooks.example.com/new'");
        return new Response(null, { status });
      };
      await worker.deliver(webhook);
      expect(worker.posted).toHaveLength(1);
      expect(await deliveriesOf(webhook)).toMatchObject([{ status: "pending", attempts: 0, next_attempt_at: NOW + 5 }]);
    },
  );

  it.each([503, 410])(
    "a delivery that is sent again during its attempt, and answered %i, starts a new series of attempts",
    async (status) => {
      const [webhook] = (await webhooksOf(1, 1)) as [TestWebhook];
      await setDeliveries(webhook, "attempts = 7");
      const worker = new DeliveringWorker();
      worker.receiver = async () => {
        // Does what sending again does, and corrects the URL.
        await setDeliveries(webhook, "attempts = 0");
        await setWebhook(webhook, "url = 'https://hooks.example.com/new'");
        return new Response(null, { status });
      };
      await worker.deliver(webhook);
      expect(await deliveriesOf(webhook)).toMatchObject([
        { status: "pending", attempts: 0, next_attempt_at: NOW + 5, claim: null, last_status: status },
      ]);
      expect(worker.notices).toMatchObject([{ webhook: webhook.id, delay: 5 }]);
      worker.clock.now += 5;
      worker.receiver = () => new Response(null, { status: 500 });
      await worker.deliver(webhook);
      expect(await deliveriesOf(webhook)).toMatchObject([
        { status: "pending", attempts: 1, next_attempt_at: NOW + 10 },
      ]);
    },
  );
});
