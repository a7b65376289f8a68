import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CALLERS } from "../../src/tools/docs/programs.ts";
import { type BuiltWorker, startBuiltWorker } from "../support/built-worker.ts";
import { commandOf, runExample, runnablePrograms } from "../support/run-example.ts";

let worker: BuiltWorker;
let relaxed: BuiltWorker;

beforeAll(async () => {
  worker = await startBuiltWorker();
  relaxed = await startBuiltWorker({ vars: { ERROR_STATUS: "always-200" } });
});

afterAll(async () => {
  await worker?.close();
  await relaxed?.close();
});

describe.each(runnablePrograms(CALLERS))("$file", (program) => {
  let command: string[];
  const folder = mkdtempSync(join(tmpdir(), "examples-"));
  beforeAll(() => {
    command = commandOf(program, folder);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  function example(
    { url }: { url: string },
    app: { appid: string; secret: string },
    agents: string,
    run: string[] = command,
  ) {
    return runExample(run, { BASE_URL: url, APPID: app.appid, SECRET: app.secret, AGENT_ID: agents });
  }

  it("a calling program opens a session, prints its chat_id, and prints the same chat_id again for the same key", async () => {
    const app = await worker.provision([10411, 10427]);
    const result = await example(worker, app, "10411,10427", [...program.run.split(" "), "order-20418"]);
    const { status, stdout, stderr } = result;
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toMatch(/^[1-9]\d*\n$/);
    expect(await example(worker, app, "10411,10427", [...command, "order-20418"])).toEqual(result);
    const list = await worker.admin<{ items: unknown[] }>("GET", `/admin/sites/${app.siteId}/sessions`);
    expect(list.items).toHaveLength(1);
    expect(await worker.admin("GET", `/admin/sites/${app.siteId}/sessions/${stdout.trim()}`)).toMatchObject({
      responsible_agent_id: 10411,
      customer: { sbs: "customer_001", name: "王伟", ip: "203.0.113.7" },
      participants: [{ agent_id: 10427 }],
      messages: [{ sender: "agent", sender_uid: 10411, content: "我的订单在哪里？" }],
    });
  });

  it("a calling program prints message and detail of a refusal and exits with 1", async () => {
    const app = await worker.provision([10411]);
    const { status, stdout, stderr } = await example(worker, app, "10411,99");
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toMatch(/refused: 参数错误 \(kefu_id: .*99.*\); Idempotency-Key \S+, x-request-id \S+\n/);
    const list = await worker.admin<{ items: unknown[] }>("GET", `/admin/sites/${app.siteId}/sessions`);
    expect(list.items).toEqual([]);
  });

  it("a calling program exits with 1 for a wrong secret, also when each answer has status 200", async () => {
    for (const server of [worker, relaxed]) {
      const app = await server.provision([10411]);
      const { status, stdout, stderr } = await example(server, { ...app, secret: "wrong secret" }, "10411");
      expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
      expect(stderr).toMatch(/refused: token验证失败!; /);
    }
  });
});
