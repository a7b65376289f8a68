import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { verifyEvent } from "../../src/client/client.ts";
import { type BuiltWorker, startBuiltWorker } from "../support/built-worker.ts";
import { eventually } from "../support/eventually.ts";
import { Listener } from "../support/listener.ts";
import { run } from "../support/run-cli.ts";

const ROOT = join(import.meta.dirname, "../..");

let worker: BuiltWorker;
let folder: string;
let receiver: Listener;

beforeAll(async () => {
  worker = await startBuiltWorker({ vars: { WEBHOOK_LOOPBACK: "allow" } });
  folder = mkdtempSync(join(tmpdir(), "docs-events-test-"));
  writeFileSync(join(folder, ".dev.vars"), `MASTER_KEY=unused\nADMIN_TOKEN=${worker.adminToken}\n`);
  receiver = await Listener.start();
  receiver.answer = { status: 204, headers: {}, body: "" };
});

afterAll(async () => {
  await worker?.close();
  await receiver?.close();
  rmSync(folder, { recursive: true });
});

/** The blocks of commands in a page, or in a part of a page. */
const blocksOf = (path: string, from = "", to?: string) => {
  const [, part = ""] = from === "" ? ["", pageOf(path)] : pageOf(path).split(`\n${from}\n`);
  const [within = ""] = to === undefined ? [part] : part.split(`\n${to}\n`);
  return [...within.matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = ""]) => block);
};

const pageOf = (path: string) => readFileSync(join(ROOT, path), "utf8");

/** Makes a new site with the README's commands, then runs the given commands there. */
async function shell(blocks: string[]) {
  const { id } = await worker.admin<{ id: number }>("POST", "/admin/sites", { name: "Before" });
  const [block = ""] = blocksOf("README.md").filter((each) => each.startsWith("export BASE_URL="));
  // The calls after the empty line are left out, because the last of them is refused.
  const [first = ""] = block.split("\n\n");
  const script =
    `cd '${folder}'; npm() { command npm --prefix '${ROOT}' "$@"; }\n${first}\ncd '${ROOT}'\necho DOCS\n${blocks.join("\n")}`
      .replaceAll("http://localhost:8787", worker.url)
      .replaceAll("http://localhost:8080", receiver.url)
      .replaceAll("sites/1", `sites/${id + 1}`)
      .replaceAll("site_id=1", `site_id=${id + 1}`)
      .replaceAll("my-shop", `my-shop-${id + 1}`);
  const { exitCode, stdout, stderr } = await run("sh", ["-e"], { input: script });
  const [, output = ""] = stdout.split("DOCS\n");
  return { exitCode, stderr, output };
}

it.each([
  ["docs/receiving.md", "## Try it", "## When nothing verifies"],
  ["docs/zh/receiving.md", "## 在本机试一次", "## 验证失败时"],
])(
  "the commands of %s bring a ping and a session, verified with the secret that they printed",
  async (path, from, to) => {
    receiver.received.length = 0;
    const [add = "", receive = "", send = ""] = blocksOf(path, from, to);
    expect(receive).toBe("SECRET=whsec_… node src/client/examples/receive-event.mjs\n");
    const [pull = ""] = blocksOf(path).filter((block) => block.includes("/events?after="));
    const { exitCode, stderr, output } = await shell([add, send, pull]);
    expect([exitCode, stderr]).toEqual([0, ""]);
    await eventually(() => expect(receiver.received.length).toBeGreaterThanOrEqual(2));
    const [, secret = ""] = output.match(/"secret":"(whsec_[^"]+)"/) ?? [];
    const events = await Promise.all(receiver.received.map(({ headers, body }) => verifyEvent(headers, body, secret)));
    events.sort((a, b) => a.data.seq - b.data.seq);
    expect(events).toMatchObject([
      { type: "ping", data: { seq: 1 } },
      {
        type: "session.created",
        data: { seq: 2, chat_id: 1, messages: [{ content: expect.stringMatching(/order|订单/) }] },
      },
    ]);
    for (const { id } of events) expect(output).toContain(`"id":"${id}"`);
  },
);

it("each call about webhooks in docs/operating/webhooks.md works as shown", async () => {
  const { exitCode, stderr, output } = await shell(blocksOf("docs/operating/webhooks.md"));
  expect([exitCode, stderr]).toEqual([0, ""]);
  for (const part of [
    /"status":"enabled".*"secret":"whsec_/,
    /^\{"event_id":"evt_/m,
    // The only attempt of the ping may still be in flight.
    /"type":"ping","chat_id":null,"status":"(pending|failed)"/,
    /^\{"secret":"whsec_.*"previous_expires_at":\d+\}/m,
    /"events":\["session\.created"\],"status":"disabled"/,

    /"status":"failed".*"last_error":"(HTTP 500: |no connection|the webhook is disabled)/,
    /"action":"webhook\.rotated"/,
    /^\{"matched":\d+,"queued":\d+,"until":\d+,"next_after_seq":null\}/m,
    /^\{"event_id":"evt_[0-9a-f]{32}","seq":1\}/m,
  ]) {
    expect(output).toMatch(part);
  }
});

it("each call about customers and sites in docs/operating/data-and-restore.md works as shown", async () => {
  const path = "docs/operating/data-and-restore.md";
  const calls = [
    "## One customer's data",
    "## How long sessions are kept",
    "## Exporting a site",
    "## Deleting a site",
  ];
  const [customers = [], ...others] = calls.map((from) => blocksOf(path, from, "## Pruning"));
  const blocks = [...customers.slice(0, 1), ...others.map(([first = ""]) => first)];
  const [create = ""] = blocksOf("README.md").flatMap((block) => block.match(/^npm run .* create_gd [^}]*\}'$/m) ?? []);
  const { exitCode, stderr, output } = await shell([create, `cd '${folder}'`, ...blocks, "cat site.ndjson"]);
  expect([exitCode, stderr]).toEqual([0, ""]);
  expect(readFileSync(join(folder, "customer_001.json"), "utf8")).toContain('"customer":{"sbs":"customer_001"');
  for (const part of [
    /^\{"erasure_id":"[\w-]+","erased":\{"sessions":1,.*"remaining":0,"customer_is_back":false,"webhooks":\[\]/m,
    /"retention_days":365,"oldest_session_at":null,"sessions_to_go":0,"deletion":null\}/,
    /^\{"deletion_id":"[\w-]+"\}/m,
    /"status":"deleting".*"remaining":\{/,
    /^\{"kind":"site",.*\n\{"kind":"agent",.*\n\{"kind":"app",/m,
  ]) {
    expect(output).toMatch(part);
  }
});
