import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { countingDb } from "../support/counting-db.ts";
import { DeliveringWorker, deliveriesOf, fillDeliveries, setDeliveries, setWebhook } from "../support/deliveries.ts";
import { eventually } from "../support/eventually.ts";
import { newWebhook, type TestWebhook } from "../support/new-webhook.ts";
import { replacing } from "../support/replacing.ts";
import { NOW, World } from "../support/world.ts";

afterEach(() => vi.unstubAllGlobals());
/** A receiver that answers only when the test says so, and counts the waiting requests by URL. */
function patientReceiver(worker: DeliveringWorker) {
  const waiting: { url: string; answer: () => void }[] = [];
  let most = 0;
  worker.receiver = ({ url }) => {
    return new Promise((resolve) => {
      const place = { url, answer: () => resolve(new Response()) };
      waiting.push(place);
      most = Math.max(most, waiting.length);
    });
  };
  return {
    waiting: (url?: string) => waiting.filter((each) => url === undefined || each.url === url).length,
    most: () => most,
    answer: (url?: string) => {
      for (const each of waiting.splice(0)) {
        if (url === undefined || each.url === url) each.answer();
        else waiting.push(each);
      }
    },
  };
}

/** A receiver that answers one post after another, with time for a batch of D1 between the answers. */
function oneAfterTheOther(status: number) {
  let last = Promise.resolve();
  return async () => {
    last = last.then(() => new Promise((resolve) => setTimeout(resolve, 8)));
    await last;
    return new Response(null, { status });
  };
}

const until = (condition: () => boolean) => eventually(() => expect(condition()).toBe(true));

const statusesOf = async (webhook: Parameters<typeof deliveriesOf>[0]) =>
  Object.entries(Object.groupBy(await deliveriesOf(webhook), ({ status }) => status)).map(
    ([status, all]) => `${all?.length} ${status}`,
  );

describe("an invocation", () => {
  it("an invocation makes at most 50 calls, six posts at a time, and then notifies the queue for the rest", async () => {
    const webhook = await newWebhook(await World.create());
    await fillDeliveries(webhook, 50);
    const { db, trips } = countingDb(env.DB);
    const worker = new DeliveringWorker({ DB: db });
    let inFlight = 0;
    let most = 0;
    worker.receiver = async () => {
      most = Math.max(most, ++inFlight);
      await new Promise((resolve) => setTimeout(resolve, 3));
      inFlight -= 1;
      return new Response();
    };
    await worker.deliver(webhook);
    expect(most).toBe(6);
    const posts = worker.posted.length;
    expect(posts).toBeGreaterThanOrEqual(21);
    expect(posts + trips.batches + trips.single + worker.notices.length).toBeLessThanOrEqual(50);
    const seqs = worker.posted.map(({ headers }) => Number(headers.get("webhook-id")?.slice(4)));
    expect(seqs.slice(0, 6)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(seqs.toSorted((a, b) => a - b)).toEqual(Array.from({ length: posts }, (_, i) => i + 1));
    expect(await statusesOf(webhook)).toEqual([`${posts} delivered`, `${50 - posts} pending`]);
    // On a slow machine a message may ask another invocation for help too.
    const notice = { home: "main", site: webhook.siteId, webhook: webhook.id, delay: 0 };
    expect(worker.notices.slice(-1)).toEqual([notice]);
    expect(worker.notices.slice(0, -1)).toEqual(worker.notices.length > 1 ? [notice] : []);
  });

  it.each([
    ["each attempt ends alone", Number.POSITIVE_INFINITY],
    ["each third batch needs another try", 3],
  ])("an invocation makes at most 50 calls, even when %s", async (_, failing) => {
    const webhook = await newWebhook(await World.create());
    await fillDeliveries(webhook, 50);
    let queryCount = 0;
    const { db, trips } = countingDb(
      replacing(env.DB, {
        batch: (statements: D1PreparedStatement[]) => {
          if (++queryCount % failing === 0) throw new Error("D1_ERROR: Network connection lost.");
          return env.DB.batch(statements);
        },
      }),
    );
    const worker = new DeliveringWorker({ DB: db });
    worker.receiver = oneAfterTheOther(200);
    await worker.deliver(webhook);
    expect(queryCount).toBeGreaterThan(12);
    expect(worker.posted.length + trips.batches + trips.single + worker.notices.length).toBeLessThanOrEqual(50);
    expect(await statusesOf(webhook)).toContainEqual(expect.stringMatching(/^\d+ delivered$/));
    expect(worker.keptRecords.jobs).toMatchObject([{ outcome: "ok" }]);
  });

  it("an invocation makes at most 50 calls, even when each attempt ends alone and causes a notice to the queue", async () => {
    const world = await World.create();
    const webhooks = await Promise.all(Array.from({ length: 20 }, () => newWebhook(world)));
    await Promise.all(webhooks.map((webhook) => fillDeliveries(webhook, 2)));
    const { db, trips } = countingDb(env.DB);
    const worker = new DeliveringWorker({ DB: db });
    worker.receiver = oneAfterTheOther(500);
    await worker.deliver(...webhooks);
    expect(worker.tellings).toBeGreaterThan(5);
    expect(worker.posted.length + trips.batches + trips.single + worker.tellings).toBeLessThanOrEqual(50);
  });

  it("an invocation begins no attempt after 8 seconds, and notifies the queue for the rest", async () => {
    const webhook = await newWebhook(await World.create());
    await fillDeliveries(webhook, 10);
    const worker = new DeliveringWorker();
    const receiver = patientReceiver(worker);
    const delivery = worker.deliver(webhook);
    await until(() => receiver.waiting() === 6);
    worker.elapsedMore = 8_000;
    receiver.answer();
    await delivery;
    expect(await statusesOf(webhook)).toEqual(["6 delivered", "4 pending"]);
    expect(worker.notices.at(-1)).toMatchObject({ delay: 0 });
  });

  it("an invocation gives each webhook its share, so that one that hangs delays no other", async () => {
    const worlds = [await World.create(), await World.create({}, "apac"), await World.create()];
    const [hanging, ...others] = await Promise.all(worlds.map((world) => newWebhook(world)));
    for (const webhook of [hanging, ...others]) await fillDeliveries(webhook as (typeof others)[0], 4);
    const worker = new DeliveringWorker();
    const receiver = patientReceiver(worker);
    const patient = worker.receiver;
    worker.receiver = (posted) => (posted.url === hanging?.url ? patient(posted) : new Response());
    const delivery = worker.deliver(...[hanging, ...others].map((each) => each as (typeof others)[0]));
    await eventually(async () => {
      for (const other of others) expect(await statusesOf(other)).toEqual(["4 delivered"]);
    });
    // Each of the two homes has three places, and two webhooks share the places of main.
    expect(receiver.waiting()).toBe(1);
    worker.receiver = () => new Response();
    receiver.answer();
    await delivery;
    expect(await statusesOf(hanging as (typeof others)[0])).toEqual(["4 delivered"]);
  });

  it("an invocation serves more webhooks than it has places, six attempts at a time, while one hangs", async () => {
    const webhooks: TestWebhook[] = [];
    for (let i = 0; i < 2; i++) {
      const world = await World.create();
      for (let j = 0; j < 4; j++) webhooks.push(await newWebhook(world));
    }
    for (const webhook of webhooks) await fillDeliveries(webhook, 2);
    const [hanging, ...others] = webhooks;
    const worker = new DeliveringWorker();
    const receiver = patientReceiver(worker);
    const patient = worker.receiver;
    let atOnce = 0;
    let most = 0;
    worker.receiver = async (posted) => {
      most = Math.max(most, ++atOnce);
      const answer = posted.url === hanging?.url ? await patient(posted) : new Response();
      atOnce--;
      return answer;
    };
    const delivery = worker.deliver(...webhooks);
    await eventually(async () => {
      for (const other of others) expect(await statusesOf(other)).toEqual(["2 delivered"]);
    });
    expect(receiver.waiting()).toBeGreaterThan(0);
    const timer = setInterval(() => receiver.answer(), 5);
    await delivery;
    clearInterval(timer);
    expect(most).toBeLessThanOrEqual(6);
    expect(worker.notices).toEqual([]);
  });

  it("an invocation serves the webhooks of a home in turn, even beside one with many deliveries", async () => {
    const webhooks: TestWebhook[] = [];
    for (const world of [await World.create(), await World.create()]) {
      for (let i = 0; i < 4; i++) webhooks.push(await newWebhook(world));
    }
    for (const webhook of webhooks) await fillDeliveries(webhook, 30);
    const worker = new DeliveringWorker();
    await worker.deliver(...webhooks);
    const counts = webhooks.map(({ url }) => worker.posted.filter((posted) => posted.url === url).length);
    for (const count of counts) expect(count).toBeGreaterThanOrEqual(2);
    // Every webhook has more due deliveries.
    expect(worker.notices.map(({ webhook }) => webhook).sort()).toEqual(webhooks.map(({ id }) => id).sort());
  });

  it.each([
    [0, "abc", "de"],
    [0.5, "cde", "ab"],
    [0.99, "eab", "cd"],
  ])(
    "an invocation serves three homes and gives the others back to the queue: chance %d draws %s of abcde",
    async (chance, firstHomes, otherHomes) => {
      const webhook = await newWebhook(await World.create({}, "apac"));
      await fillDeliveries(webhook, 1);
      const names = [..."abcde"];
      const homes = Object.fromEntries(names.map((name) => [`HOME_${name.toUpperCase()}`, env.HOME_APAC]));
      const worker = new DeliveringWorker(homes);
      worker.chance = chance;
      await worker.deliver(...names.map((home) => ({ ...webhook, home })));
      expect(Object.keys(worker.keptRecords.jobs[0]?.homes as object)).toEqual([...firstHomes]);
      const again = { site: webhook.siteId, webhook: webhook.id, delay: 0 };
      expect(worker.notices).toEqual([...otherHomes].map((home) => ({ home, ...again })));
      expect(await statusesOf(webhook)).toEqual(["1 delivered"]);
    },
  );

  it("an invocation asks a failing database once for each attempt that ends", async () => {
    const webhook = await newWebhook(await World.create({}, "apac"));
    await fillDeliveries(webhook, 3);
    let isDown = false;
    let queryCount = 0;
    const batch: D1Database["batch"] = (statements) => {
      queryCount++;
      return isDown ? Promise.reject(new Error("D1_ERROR: internal error")) : env.HOME_APAC.batch(statements);
    };
    const worker = new DeliveringWorker({ HOME_APAC: replacing(env.HOME_APAC, { batch }) });
    const answers: (() => void)[] = [];
    worker.receiver = () => new Promise((resolve) => answers.push(() => resolve(new Response())));
    const delivery = worker.deliver(webhook);
    await until(() => answers.length === 3);
    isDown = true;
    for (const answer of answers.slice(0, 2)) {
      answer();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(queryCount).toBe(3);
    isDown = false;
    answers.at(-1)?.();
    await delivery;
    expect(queryCount).toBe(4);
    // The results from the time of the database's fault are recorded too.
    expect(await statusesOf(webhook)).toEqual(["3 delivered"]);
  });

  it("an invocation records results while the queue does not answer", async () => {
    const world = await World.create();
    const [failing, other] = [await newWebhook(world), await newWebhook(world)];
    for (const webhook of [failing, other]) await fillDeliveries(webhook, 2);
    let queryCount = 0;
    const sendBatch = () => new Promise(() => queryCount++);
    const worker = new DeliveringWorker({ EVENTS: { sendBatch } as never });
    worker.receiver = async ({ url }) => {
      if (url === failing.url) return new Response(null, { status: 500 });
      await eventually(() => expect(queryCount).toBe(1));
      return new Response();
    };
    const messages = [failing, other].map(({ home, siteId, id }) => ({ home, site: siteId, webhook: id }));
    await worker.handle(messages, () => {});
    await eventually(async () => expect(await statusesOf(other)).toEqual(["2 delivered"]));
    expect(await deliveriesOf(failing)).toMatchObject([{ last_status: 500 }, { last_status: 500 }]);
  });

  it("an invocation answers the queue once its first attempts have begun, whatever a receiver does", async () => {
    const webhook = await newWebhook(await World.create());
    await fillDeliveries(webhook, 1);
    const worker = new DeliveringWorker();
    const receiver = patientReceiver(worker);
    const pendingWork: Promise<unknown>[] = [];
    await worker.handle([{ home: "main", site: webhook.siteId, webhook: webhook.id }], (work) =>
      pendingWork.push(work),
    );
    await until(() => receiver.waiting() === 1);
    expect(await deliveriesOf(webhook)).toMatchObject([{ attempts: 1, next_attempt_at: NOW + 60 }]);
    receiver.answer();
    await Promise.all(pendingWork);
    expect(await statusesOf(webhook)).toEqual(["1 delivered"]);
  });
});

describe("a webhook", () => {
  it.each([
    ["20 attempts", "failing_since = NULL", 20],
    ["3 attempts while it fails", `failing_since = ${NOW - 1}`, 3],
  ])("a webhook has at most %s in flight, over all invocations", async (_, health, most) => {
    const webhook = await newWebhook(await World.create());
    await setWebhook(webhook, health);
    await fillDeliveries(webhook, 30);
    const worker = new DeliveringWorker();
    const receiver = patientReceiver(worker);
    const delivery = Promise.all(Array.from({ length: 8 }, () => worker.deliver(webhook)));
    await until(() => receiver.waiting() === most);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(receiver.waiting()).toBe(most);
    // Invocations that find the webhook at its limit stop; invocations with attempts in flight continue.
    const timer = setInterval(() => receiver.answer(), 5);
    await delivery;
    clearInterval(timer);
    expect(receiver.most()).toBeLessThanOrEqual(20);
    expect(await statusesOf(webhook)).toEqual(["30 delivered"]);
    expect(worker.posted).toHaveLength(30);
  });

  it("lost attempts count as in flight until their lease ends, even when their holder's clock was ahead", async () => {
    const webhook = await newWebhook(await World.create());
    await fillDeliveries(webhook, 21);
    await setDeliveries(webhook, `claim = 'lost', attempts = 1, next_attempt_at = ${NOW + 60} + 30 * (seq % 2)`);
    await setDeliveries(
      { ...webhook },
      `claim = CASE seq WHEN 21 THEN NULL ELSE claim END,
      next_attempt_at = CASE seq WHEN 21 THEN ${NOW} ELSE next_attempt_at END`,
    );
    const worker = new DeliveringWorker();
    await worker.deliver(webhook);
    expect(worker.posted).toEqual([]);
    // No notice is sent, because the holders of the attempts in flight continue, and the sweep comes later.
    expect(worker.notices).toEqual([]);
    worker.clock.now += 90;
    await worker.deliver(webhook);
    expect(await statusesOf(webhook)).toEqual(["21 delivered"]);
  });
});
