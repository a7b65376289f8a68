import { afterEach, describe, expect, it, vi } from "vitest";
import { post } from "../../src/events/post.ts";
import { DeliveringWorker, deliveriesOf } from "../support/deliveries.ts";
import { newWebhook } from "../support/new-webhook.ts";
import { runtimeAt } from "../support/test-runtime.ts";
import { NOW, World } from "../support/world.ts";

/** Tests the claims of the threat model (docs/threat-model.md) about webhooks that no other test shows. */

afterEach(() => vi.unstubAllGlobals());

describe("the events of a site", () => {
  it("a site's events go to its own webhooks only", async () => {
    const world = await World.create();
    const [ownWorld, foreign] = [await newWebhook(world), await newWebhook(await World.create())];
    await world.chatId();
    expect(await deliveriesOf(ownWorld)).toHaveLength(1);
    expect(await deliveriesOf(foreign)).toEqual([]);
  });
});

const [WRANGLER = ""] = Object.values<string>(
  import.meta.glob("../../wrangler.toml", { query: "?raw", import: "default", eager: true }),
);

describe("an event", () => {
  it("an event is posted to any public name, and the platform is configured to reach public addresses only", async () => {
    const world = await World.create();
    // Public DNS gives these names the addresses 127.0.0.1 and 10.0.0.1.
    const urls = ["https://localtest.me/", "https://10.0.0.1.nip.io/"];
    const webhooks = await Promise.all(urls.map((url) => newWebhook(world, { url })));
    await world.chatId();
    const worker = new DeliveringWorker();
    await worker.deliver(...webhooks);
    expect(worker.posted.map(({ url }) => url).sort()).toEqual(urls.toSorted());
    expect(WRANGLER).toMatch(/^compatibility_flags = \[.*"global_fetch_strictly_public"/m);
  });
});

describe("a receiver that misbehaves", () => {
  const runtime = runtimeAt(() => NOW * 1000);
  const tryPost = (answer: (init: RequestInit) => Response) => {
    vi.stubGlobal("fetch", async (_: string, init: RequestInit) => answer(init));
    return post(runtime, "https://hooks.example.com/", {}, "{}");
  };

  it("a receiver cannot redirect an event to another address", async () => {
    let mode: string | undefined;
    for (const status of [301, 302, 303, 307, 308]) {
      const headers = { location: "http://169.254.169.254/" };
      const answer = await tryPost((init) => {
        mode = init.redirect;
        return new Response(null, { status, headers });
      });
      expect([mode, answer]).toMatchObject(["manual", { status, error: "redirects are not followed" }]);
    }
  });

  it("a receiver's endless answer is read up to a kilobyte after a failure, and up to four after a success", async () => {
    for (const [status, most] of [
      [500, 3],
      [200, 6],
    ] as const) {
      let chunks = 0;
      let cancelled = false;
      const body = new ReadableStream<Uint8Array>(
        {
          pull(controller) {
            chunks += 1;
            controller.enqueue(new TextEncoder().encode("x".repeat(1_000)));
          },
          cancel() {
            cancelled = true;
          },
        },
        { highWaterMark: 0 },
      );
      const answer = await tryPost(({ signal }) => {
        signal?.addEventListener("abort", () => {
          cancelled = true;
        });
        return new Response(body, { status });
      });
      expect([answer.status, chunks <= most, cancelled]).toEqual([status, true, true]);
    }
  });

  it("a receiver cannot add a line to what operators read, and writes nothing into the log", async () => {
    const world = await World.create();
    const webhook = await newWebhook(world);
    await world.chatId({ content: "a customer's text" });
    const worker = new DeliveringWorker();
    worker.receiver = ({ body }) => new Response(`no\r\n\u001b[31m{"job":"forged"}\u202e${body}`, { status: 500 });
    await worker.deliver(webhook);
    const [delivery] = await deliveriesOf(webhook);
    expect(delivery?.last_error).toMatch(/^HTTP 500: no \[31m\{"job":"forged"\} \{"type":/);
    expect(delivery?.last_error).not.toMatch(/[\p{C}]/u);
    expect(JSON.stringify(worker.keptRecords)).not.toMatch(/forged|customer/);
  });
});
