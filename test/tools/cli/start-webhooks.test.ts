import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { Listener } from "../../support/listener.ts";
import { isAlive, start, useCheckout } from "../../support/npm-start.ts";
import { signedCall } from "../../support/signed-call.ts";

useCheckout();

describe("webhooks on this machine", () => {
  let receiver: Listener;
  let running: Awaited<ReturnType<typeof start>>;
  beforeAll(async () => {
    receiver = await Listener.start();
    running = await start();
  }, 120_000);
  afterAll(() => receiver.close());

  /** Makes a site with a webhook at the receiver. @returns a function that opens a session there, and gives its chat_id */
  async function listeningSite() {
    const make = async <T>(path: string, body: unknown) =>
      (await (await running.admin("POST", body, path)).json()) as T;
    const { id } = await make<{ id: number }>("", { name: "Listening" });
    await make(`/${id}/agents`, { id: 10411, name: "Agent" });
    const app = await make<{ appid: string; secret: string }>(`/${id}/apps`, { name: "App" });
    const { secret } = await make<{ secret: string }>(`/${id}/webhooks`, { url: `${receiver.url}/events` });
    const open = async () => {
      const fields = { sbs: "customer_001", ip: "127.0.0.1", sbs_mc: "Name", content: "Hello", kefu_id: [10411] };
      const answer = await signedCall(running.url, app, "create_gd", { ...fields, fzr_uid: 10411 });
      return ((await answer.json()) as { data: { chat_id: number } }).data.chat_id;
    };
    return { open, secret };
  }

  /** The verified events that arrived: from event id to chat_id. */
  function arrivals(secret: string): Map<string | undefined, number> {
    const events = receiver.received.map(({ body, headers }) => {
      const { data } = new Webhook(secret).verify(body, headers as Record<string, string>) as {
        data: { chat_id: number };
      };
      return [headers["webhook-id"] as string, data.chat_id] as const;
    });
    return new Map(events);
  }

  it("npm start runs the crons from the start, delivers to this machine, and after a kill delivers what was left", async () => {
    await eventually(() => expect(running.output()).toContain('"job":"sweep"'));
    const { open, secret } = await listeningSite();
    const first = await open();
    await eventually(() => expect([...arrivals(secret).values()]).toEqual([first]));

    receiver.answer = { status: 503, headers: {}, body: "" };
    const second = await open();
    await eventually(() => expect(receiver.received.length).toBeGreaterThan(1));
    await running.kill();
    receiver.received.length = 0;
    receiver.answer = { status: 204, headers: {}, body: "" };

    running = await start();
    // The second attempt is due 5 s after the first. The new process makes it, after a cron found it.
    await eventually(() => expect([...arrivals(secret).values()]).toEqual([second]), 150_000);
  });

  it("npm start goes on delivering after any workerd process was killed", async () => {
    const { open, secret } = await listeningSite();
    receiver.received.length = 0;
    for (const pid of running.workerds()) process.kill(pid, "SIGKILL");
    await eventually(async () => expect((await running.get("/healthz")).status).toBe(200), 90_000);
    const after = await open();
    await eventually(() => expect([...arrivals(secret).values()]).toEqual([after]));
    expect(running.output()).toContain("It is started again.");
  });

  it("workerd ends when npm start is killed", async () => {
    const before = running.workerds();
    expect(before.length).toBeGreaterThan(0);
    await running.stop("SIGKILL");
    await eventually(() => expect(before.filter(isAlive)).toEqual([]));
  });
});
