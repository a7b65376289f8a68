import { spawn, spawnSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type BuiltWorker, startBuiltWorker } from "../support/built-worker.ts";

const EXAMPLES = `${import.meta.dirname}/../../src/client/examples`;

const LANGUAGES = [
  {
    name: "shell",
    needs: [
      ["openssl", "version"],
      ["curl", "--version"],
    ],
    run: ["sh", "create-session.sh"],
  },
  { name: "Node", needs: [["node", "--version"]], run: ["node", "create-session.mjs"] },
  { name: "Python", needs: [["python3", "--version"]], run: ["python3", "create-session.py"] },
  { name: "PHP", needs: [["php", "--version"]], run: ["php", "create-session.php"] },
  { name: "Go", needs: [["go", "version"]], run: ["go", "run", "create-session.go"] },
  { name: "Java", needs: [["javac", "-version"]], run: ["java", "CreateSession.java"] },
];

/** In milliseconds. The first run of Go also compiles its library. */
const TIME = 120_000;

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

describe.each(LANGUAGES.map((language) => [language.name, language] as const))(
  "the %s example",
  (_, { needs, run }) => {
    const missing = needs
      .map(([tool = "", flag = ""]) => (spawnSync(tool, [flag]).status === 0 ? "" : tool))
      .join(" ")
      .trim();

    if (missing !== "") {
      // .ci/run installs all languages.
      if (process.env.CI !== undefined) {
        it("runs", () => expect.unreachable(`${missing} is not installed`));
      } else {
        it.skip(`is not run: ${missing} is not installed`, () => {});
      }
      return;
    }

    it("opens the session that it announces, and prints its chat_id", async () => {
      const app = await worker.provision([10411, 10427]);
      const { status, stdout, stderr } = await example(run, worker, app, "10411,10427");
      expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
      expect(stdout).toMatch(/^[1-9]\d*\n$/);
      const list = await worker.admin<{ items: unknown[] }>("GET", `/admin/sites/${app.siteId}/sessions`);
      expect(list.items).toHaveLength(1);
      expect(await worker.admin("GET", `/admin/sites/${app.siteId}/sessions/${stdout.trim()}`)).toMatchObject({
        responsible_agent_id: 10411,
        customer: { sbs: "customer_001", name: "王伟", ip: "203.0.113.7" },
        participants: [{ agent_id: 10427 }],
        messages: [{ sender: "agent", sender_uid: 10411, content: "我的订单在哪里？" }],
      });
    });

    it("prints message and detail of a refusal and exits with 1", async () => {
      const app = await worker.provision([10411]);
      const { status, stdout, stderr } = await example(run, worker, app, "10411,99");
      expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
      expect(stderr).toMatch(/refused: 参数错误 \(kefu_id: .*99.*\)\n/);
      const list = await worker.admin<{ items: unknown[] }>("GET", `/admin/sites/${app.siteId}/sessions`);
      expect(list.items).toEqual([]);
    });

    it("exits with 1 for a wrong secret, also where every answer is 200", async () => {
      for (const server of [worker, relaxed]) {
        const app = await server.provision([10411]);
        const { status, stdout, stderr } = await example(run, server, { ...app, secret: "wrong secret" }, "10411");
        expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
        expect(stderr).toMatch(/refused: token验证失败!\n/);
      }
    });

    it("exits with another code than 0 when the service is not reachable", async () => {
      const nobody = { url: "http://127.0.0.1:2" };
      const { status, stdout } = await example(run, nobody, { appid: "a", secret: "secret" }, "1");
      expect(status).not.toBe(0);
      expect(stdout).toBe("");
    });
  },
);

/** Runs in a plain locale and without a proxy, so that the output does not depend on the machine. */
function example(run: string[], { url }: { url: string }, app: { appid: string; secret: string }, agents: string) {
  const [command = "", ...args] = run;
  const { PATH, HOME, TMPDIR } = process.env;
  const env = {
    PATH,
    HOME,
    TMPDIR,
    LC_ALL: "C",
    BASE_URL: url,
    APPID: app.appid,
    SECRET: app.secret,
    AGENT_ID: agents,
  };
  // The generated types would give every process the Worker's own settings.
  const child = spawn(command, args, { cwd: EXAMPLES, env: env as unknown as NodeJS.ProcessEnv, timeout: TIME });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  return new Promise<{ status: number | null; stdout: string; stderr: string }>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (status) => resolve({ status, stdout, stderr }));
  });
}
