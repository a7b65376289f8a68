import type { ServerResponse } from "node:http";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createSession } from "../support/create-session.ts";
import { eventually } from "../support/eventually.ts";
import { Receiver, verifiedEvent } from "../support/receiver.ts";
import { CrashableWorker, type SignedApp } from "../support/run-crashable.ts";

const SWEEP = "* * * * *";
const AGENTS = [10411];
const SESSIONS = 600;

const worker = new CrashableWorker({ WEBHOOK_LOOPBACK: "allow" });
let receiver: Receiver;

beforeAll(async () => {
  receiver = await Receiver.start();
  await worker.start();
});
afterAll(async () => {
  await receiver?.close();
  await worker.remove();
});

type Webhook = { id: string; url: string; secret: string };
type Delivery = {
  seq: number;
  status: string;
  attempts: number;
  last_status: number | null;
  last_error: string | null;
};

const addWebhook = ({ siteId }: SignedApp, path: string) =>
  worker.admin<Webhook>("POST", `/admin/sites/${siteId}/webhooks`, {
    url: `${receiver.url}${path}`,
    events: ["session.created"],
  });

const deliveriesOf = ({ id }: Webhook): Delivery[] =>
  worker
    .databases((db) =>
      db.prepare("SELECT seq, status, attempts, last_status, last_error FROM deliveries WHERE webhook_id = ?").all(id),
    )
    .flat() as unknown as Delivery[];

/** Writes one byte after another until the reader hangs up. */
function trickle(response: ServerResponse, text: string): void {
  const bytes = [...text];
  const timer = setInterval(() => response.write(bytes.shift() ?? "."), 200);
  response.on("close", () => clearInterval(timer));
}

function pour(response: ServerResponse): void {
  const chunk = "x".repeat(64 * 1024);
  const more = () => {
    while (!response.destroyed && response.write(chunk)) {}
  };
  response.on("drain", more);
  more();
}

const NO_ANSWER = "no answer in 15 s";

/** The answers of receivers, with the recorded results. test/events/post.test.ts tests which answers are read to their end. */
const RECEIVERS: Record<
  string,
  { answer: (response: ServerResponse) => void; result: Omit<Delivery, "seq" | "attempts"> }
> = {
  "/fails": {
    answer: (response) => response.writeHead(500).end("oops\n\u0007customer text"),
    result: { status: "pending", last_status: 500, last_error: "HTTP 500: oops customer text" },
  },
  "/hangs": { answer: () => {}, result: { status: "pending", last_status: null, last_error: NO_ANSWER } },
  "/redirects": {
    answer: (response) => response.writeHead(307, { location: `${receiver.url}/elsewhere` }).end(),
    result: { status: "pending", last_status: 307, last_error: "redirects are not followed" },
  },
  "/gone": {
    answer: (response) => response.writeHead(410).end("never again"),
    result: { status: "failed", last_status: 410, last_error: "HTTP 410: never again" },
  },
  "/pours-200": {
    answer: (response) => pour(response.writeHead(200)),
    result: { status: "delivered", last_status: 200, last_error: null },
  },
  "/pours-500": {
    answer: (response) => pour(response.writeHead(500)),
    result: { status: "pending", last_status: 500, last_error: `HTTP 500: ${"x".repeat(200)}` },
  },
  "/closes": {
    answer: (response) => response.socket?.destroy(),
    result: { status: "pending", last_status: null, last_error: "no connection" },
  },
  "/trickles-200": {
    answer: (response) => trickle(response.writeHead(200), "slow"),
    result: { status: "delivered", last_status: 200, last_error: null },
  },
  "/unresolved": {
    answer: (response) => response.writeHead(530).end("error code: 1016"),
    result: {
      status: "pending",
      last_status: 530,
      last_error: "HTTP 530, error 1016: the host name does not resolve",
    },
  },
  "/trickles-500": {
    answer: (response) => trickle(response.writeHead(500), "slow"),
    result: { status: "pending", last_status: 500, last_error: expect.stringMatching(/^HTTP 500: slow\.+$/) },
  },
  "/trickles-headers": {
    answer: (response) => {
      const { socket } = response;
      const bytes = [..."HTTP/1.1 200 OK\r\nx-long: "];
      const timer = setInterval(() => socket?.write(bytes.shift() ?? "a"), 200);
      socket?.on("close", () => clearInterval(timer));
    },
    result: { status: "pending", last_status: null, last_error: NO_ANSWER },
  },
  "/later": {
    answer: (response) => response.writeHead(503, { "retry-after": "3600" }).end(),
    result: { status: "pending", last_status: 503, last_error: "HTTP 503" },
  },
  "/huge-200": {
    answer: (response) => response.writeHead(200).end("x".repeat(20 * 1024 ** 2)),
    result: { status: "delivered", last_status: 200, last_error: null },
  },
  "/accepts": {
    answer: (response) => response.writeHead(204).end(),
    result: { status: "delivered", last_status: 204, last_error: null },
  },
};

it("the Worker records how each receiver behaves, and no receiver delays another", async () => {
  receiver.answer = (response, path) => RECEIVERS[path]?.answer(response);
  // A site has at most 10 webhooks.
  const apps = await Promise.all(["main", "apac"].map((home) => worker.provision(home, AGENTS)));
  const webhooks = await Promise.all(
    Object.keys(RECEIVERS).map(async (path, i) => {
      const app = apps[i % 2] as SignedApp;
      return { path, app, webhook: await addWebhook(app, path) };
    }),
  );
  for (const app of apps) await createSession(worker.url, app, AGENTS, "customer text");
  const results = () => {
    const all = webhooks.map(({ path, webhook }) => {
      const [delivery] = deliveriesOf(webhook);
      return [path, { status: delivery?.status, last_status: delivery?.last_status, last_error: delivery?.last_error }];
    });
    return Object.fromEntries(all);
  };
  const expected = Object.fromEntries(Object.entries(RECEIVERS).map(([path, each]) => [path, each.result]));
  await eventually(() => expect(results()).toEqual(expected));

  for (const { path, webhook } of webhooks) {
    const requests = receiver.at(path);
    for (const each of requests) expect(verifiedEvent(each, webhook.secret).type).toBe("session.created");
    expect(new Set(requests.map(({ headers, body }) => `${headers["webhook-id"]} ${body}`)).size, path).toBe(1);
  }
  expect(receiver.at("/elsewhere")).toEqual([]);
  // A streamed answer is not read to its end.
  for (const path of ["/pours-200", "/pours-500", "/trickles-200", "/trickles-500", "/hangs"]) {
    await eventually(() => expect(receiver.cut[path], path).toBe(receiver.at(path).length));
  }
  const goneHook = webhooks.find(({ path }) => path === "/gone");
  const { items } = await worker.admin<{ items: Webhook[] }>("GET", `/admin/sites/${goneHook?.app.siteId}/webhooks`);
  expect(items.find(({ id }) => id === goneHook?.webhook.id)).toMatchObject({
    status: "disabled",
    disabled_reason: "gone",
  });
  expectCleanLogs();
});

it("hundreds of sessions that were created under load are delivered while another webhook hangs", {
  timeout: 400_000,
}, async () => {
  receiver.answer = (response, path) => {
    if (path !== "/never") response.end("ok");
  };
  const app = await worker.provision("main", AGENTS);
  const others = [1, 2, 3].map(() =>
    worker.admin<SignedApp>("POST", `/admin/sites/${app.siteId}/apps`, { name: "Another" }),
  );
  const apps = [app, ...(await Promise.all(others))];
  const hanging = await addWebhook(app, "/never");
  const webhook = await addWebhook(app, "/always");
  const created = new Map<number, string>();
  let next = 0;
  const load = async () => {
    while (next < SESSIONS) {
      const n = next++;
      const text = `customer text ${n}`;
      created.set(await createSession(worker.url, apps[n % apps.length] as SignedApp, AGENTS, text), text);
    }
  };
  await Promise.all(Array.from({ length: 12 }, load));
  expect(created.size).toBe(SESSIONS);

  // The sweeps are those of the cron, but more frequent.
  const sweeping = setInterval(() => void worker.scheduled(SWEEP), 5_000);
  const countDelivered = (to: Webhook) => deliveriesOf(to).filter(({ status }) => status === "delivered").length;
  try {
    await eventually(() => expect(countDelivered(webhook)).toBe(SESSIONS), 200_000);
  } finally {
    clearInterval(sweeping);
  }

  const counts = new Map<string, number>();
  for (const request of receiver.at("/always")) {
    const { type, data } = verifiedEvent(request, webhook.secret);
    expect(type).toBe("session.created");
    const { chat_id = 0, messages } = data as { chat_id?: number; messages?: [{ content: string }] };
    expect(messages?.[0].content).toBe(created.get(chat_id));
    counts.set(request.headers["webhook-id"] ?? "", chat_id);
  }
  expect(new Set(counts.values())).toEqual(new Set(created.keys()));
  expect(counts.size).toBe(SESSIONS);
  // The hanging webhook got some events, but none of them counts as delivered.
  expect(receiver.at("/never").length).toBeGreaterThan(0);
  expect(countDelivered(hanging)).toBe(0);
  expectCleanLogs();
});

/** Checks that the log holds no text of a customer, no URL and no receiver's answer. */
function expectCleanLogs(): void {
  const logs = worker.logs();
  expect(logs).toContain('"job":"deliver"');
  expect(logs).not.toMatch(/customer|Name of|oops|never again|127\.0\.0\.1:|\/accepts|whsec_/);
}
