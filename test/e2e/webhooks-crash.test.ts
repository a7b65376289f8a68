import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { createSession } from "../support/create-session.ts";
import { eventually } from "../support/eventually.ts";
import { Receiver, verifiedEvent } from "../support/receiver.ts";
import { CrashableWorker, type SignedApp } from "../support/run-crashable.ts";

/** workerd is killed at moments when an event could get lost. The sweep of the next process must find that event. */
const SWEEP = "* * * * *";
const AGENTS = [10411];
const SESSIONS = 12;

let worker: CrashableWorker;
let receiver: Receiver;

beforeAll(async () => {
  receiver = await Receiver.start();
  worker = new CrashableWorker({ WEBHOOK_LOOPBACK: "allow" });
});
afterEach(() => worker.kill());
afterAll(async () => {
  await receiver?.close();
  await worker?.remove();
});

type Webhook = { id: string; secret: string };
type Delivery = { status: string; attempts: number; claim: string | null };

async function sites(path: string): Promise<{ app: SignedApp; webhook: Webhook }[]> {
  const all: { app: SignedApp; webhook: Webhook }[] = [];
  for (const home of ["main", "apac"]) {
    const app = await worker.provision(home, AGENTS);
    const url = `${receiver.url}${path}`;
    all.push({ app, webhook: await worker.admin("POST", `/admin/sites/${app.siteId}/webhooks`, { url }) });
  }
  return all;
}

const createAll = (all: { app: SignedApp }[]) =>
  Promise.all(
    Array.from({ length: SESSIONS }, (_, n) => {
      const { app } = all[n % all.length] as { app: SignedApp };
      return createSession(worker.url, app, AGENTS, `${n}`);
    }),
  );

const deliveriesOf = (all: { webhook: Webhook }[]): Delivery[] =>
  worker
    .databases((db) => {
      const select = db.prepare("SELECT status, attempts, claim FROM deliveries WHERE webhook_id = ?");
      return all.flatMap(({ webhook }) => select.all(webhook.id) as unknown as Delivery[]);
    })
    .flat();

/** Moves the times in the database: due deliveries become overdue, and the attempts of the killed Worker count as lost. */
const passSeconds = (seconds: number) =>
  worker.databases((db) => {
    db.exec(`UPDATE deliveries SET next_attempt_at = next_attempt_at - ${seconds} WHERE status = 'pending'`);
  }, false);

/** Checks that each event arrived under one id with one body, each time with a valid and fresh signature. */
function expectAllArrived(all: { webhook: Webhook }[], path: string, since: number): void {
  const requests = receiver.at(path);
  const events = new Map<string, string>();
  for (const each of requests) {
    const by = all.filter(({ webhook }) => {
      try {
        return verifiedEvent(each, webhook.secret).type === "session.created";
      } catch {
        return false;
      }
    });
    expect(by).toHaveLength(1);
    const id = each.headers["webhook-id"] ?? "";
    expect(events.get(id) ?? each.body).toBe(each.body);
    events.set(id, each.body);
    expect(Number(each.headers["webhook-timestamp"])).toBeGreaterThanOrEqual(since - 1);
  }
  expect(events.size).toBe(SESSIONS);
}

const deliveredIn = (all: { webhook: Webhook }[]) =>
  eventually(() =>
    expect(deliveriesOf(all).map(({ status }) => status)).toEqual(Array.from({ length: SESSIONS }, () => "delivered")),
  );

it("events are delivered when workerd is killed before it hands out the messages of the queue", async () => {
  const since = Math.floor(Date.now() / 1000);
  // The queue holds its messages in workerd, so they are lost when workerd is killed.
  await worker.start({ queueSeconds: 50 });
  const all = await sites("/unsent");
  await createAll(all);
  expect(await worker.kill()).toHaveLength(1);
  expect(receiver.at("/unsent")).toEqual([]);
  expect(deliveriesOf(all)).toEqual(
    Array.from({ length: SESSIONS }, () => ({ status: "pending", attempts: 0, claim: null })),
  );

  passSeconds(60);
  await worker.start();
  await worker.scheduled(SWEEP);
  await deliveredIn(all);
  expectAllArrived(all, "/unsent", since);
  expect(receiver.at("/unsent")).toHaveLength(SESSIONS);
});

it("an event that was posted but not recorded is delivered again after workerd was killed", async () => {
  const since = Math.floor(Date.now() / 1000);
  await worker.start();
  const all = await sites("/unwritten");
  // The receiver gets the event, but the Worker gets no answer.
  receiver.answer = () => {};
  await createAll(all);
  await eventually(() => expect(receiver.at("/unwritten").length).toBeGreaterThanOrEqual(6));
  expect(await worker.kill()).toHaveLength(1);
  const posts = receiver.at("/unwritten").length;
  const rows = deliveriesOf(all);
  expect(rows.map(({ status }) => status)).toEqual(Array.from({ length: SESSIONS }, () => "pending"));
  expect(rows.filter(({ claim, attempts }) => claim !== null && attempts === 1).length).toBeGreaterThanOrEqual(posts);

  receiver.answer = (response) => response.end();
  await worker.start();
  // It is too early for the sweep, because another Worker may still hold the lease of these attempts.
  await worker.scheduled(SWEEP);
  expect(deliveriesOf(all).filter(({ claim, attempts }) => claim !== null && attempts > 1)).toEqual([]);
  await worker.kill();

  passSeconds(70);
  await worker.start();
  await worker.scheduled(SWEEP);
  await deliveredIn(all);
  expectAllArrived(all, "/unwritten", since);
  expect(receiver.at("/unwritten").length).toBeGreaterThanOrEqual(SESSIONS + posts);
});

it("all events are delivered, whenever workerd is killed under load", async () => {
  const since = Math.floor(Date.now() / 1000);
  await worker.start();
  const all = await sites("/killed");
  receiver.answer = (response) => setTimeout(() => response.end(), 30);
  let created = 0;
  for (const _ of [1, 2, 3]) {
    const count = SESSIONS / 3;
    await Promise.all(
      Array.from({ length: count }, (_, n) =>
        createSession(worker.url, (all[n % 2] as { app: SignedApp }).app, AGENTS, `${created + n}`),
      ),
    );
    created += count;
    // workerd is killed at a random moment: in the queue, in a lease, in a post, or while results are recorded.
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 80));
    await worker.kill();
    passSeconds(70);
    await worker.start();
  }
  await worker.scheduled(SWEEP);
  await deliveredIn(all);
  expectAllArrived(all, "/killed", since);
});
