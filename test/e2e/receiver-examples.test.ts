import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AgentSessionClient } from "../../src/client/client.ts";
import { type BuiltWorker, startBuiltWorker } from "../support/built-worker.ts";

const EXAMPLES = join(import.meta.dirname, "../../src/client/examples");
const SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const OTHER = `whsec_${Buffer.alloc(32, 8).toString("base64")}`;

interface Language {
  name: string;
  needs: string[][];
  run: (port: number) => string[];
  /** The program is no server, so this test is the web server around it. */
  cgi?: true;
}

const LANGUAGES: Language[] = [
  { name: "shell", needs: [["openssl", "version"]], run: () => ["sh", "receive-event.sh"], cgi: true },
  { name: "Node", needs: [["node", "--version"]], run: () => ["node", "receive-event.mjs"] },
  { name: "Python", needs: [["python3", "--version"]], run: () => ["python3", "receive-event.py"] },
  {
    name: "PHP",
    needs: [["php", "--version"]],
    run: (port) => ["php", "-S", `127.0.0.1:${port}`, "receive-event.php"],
  },
  { name: "Go", needs: [["go", "version"]], run: () => ["go", "run", "receive-event.go"] },
  { name: "Java", needs: [["javac", "-version"]], run: () => ["java", "ReceiveEvent.java"] },
];

/** In milliseconds. The first run of Go also compiles its library. */
const TIME = 120_000;

const now = () => Math.floor(Date.now() / 1000);

/** The body of an event with a customer's text that imitates JSON of the service. */
const bodyOf = (seq: number) =>
  `{"type":"session.created","timestamp":"2027-01-15T08:00:00.000Z","data":{"seq":${seq},"appid":"a","chat_id":900220,"messages":[{"sender":"visitor","sender_uid":null,"content":"王伟 🙂 \\"data\\":{\\"seq\\":99 </script>\\n"}]}}`;

const idOf = (seq: number) => `evt_${String(seq).padStart(32, "0")}`;

const signature = (secret: string, seq: number, at = now(), body = bodyOf(seq)) =>
  new Webhook(secret).sign(idOf(seq), new Date(at * 1000), body);

const headersOf = (seq: number, change: Record<string, string> = {}, at = now()): Record<string, string> => ({
  "content-type": "application/json",
  "user-agent": "agent-session-webhooks/1",
  "webhook-id": idOf(seq),
  "webhook-timestamp": String(at),
  "webhook-signature": signature(SECRET, seq, at),
  ...change,
});

let worker: BuiltWorker;

beforeAll(async () => {
  worker = await startBuiltWorker({ vars: { WEBHOOK_LOOPBACK: "allow" } });
}, TIME);

afterAll(() => worker?.close());

describe.each(LANGUAGES.map((language) => [language.name, language] as const))("the %s receiver", (_, language) => {
  const missing = language.needs
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

  let receiver: Awaited<ReturnType<typeof start>>;

  beforeAll(async () => {
    receiver = await start(language, await freePort(), SECRET);
  }, TIME);

  afterAll(() => receiver?.close());

  const send = async (seq: number, headers: Record<string, string>, body = bodyOf(seq)) => {
    const answer = await fetch(receiver.url, { method: "POST", headers, body });
    return { status: answer.status, text: await answer.text() };
  };

  it("answers 2xx to an event and prints which event it is", async () => {
    expect(await send(1, headersOf(1))).toEqual({ status: 204, text: "" });
    await receiver.says(`${idOf(1)} session.created 1\n`);
  });

  it("handles an event once that arrives twice, and answers 2xx to both", async () => {
    expect((await send(2, headersOf(2))).status).toBe(204);
    expect((await send(2, headersOf(2, {}, now() - 1))).status).toBe(204);
    expect((await send(3, headersOf(3))).status).toBe(204);
    await receiver.says(`${idOf(3)} session.created 3\n`);
    expect(receiver.said().split(`${idOf(2)} session.created 2\n`)).toHaveLength(2);
  });

  it("stores each event under its id, byte by byte, before it answers", async () => {
    expect((await send(20, headersOf(20))).status).toBe(204);
    expect(readFileSync(join(receiver.folder, `${idOf(20)}.json`), "utf8")).toBe(bodyOf(20));
    expect((await send(21, headersOf(21, { "webhook-signature": signature(OTHER, 21) }))).status).toBe(400);
    expect(readdirSync(receiver.folder).filter((name) => name.includes(idOf(21)))).toEqual([]);
  });

  it("stores an event once that arrives eight times at the same time", async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => send(22, headersOf(22))));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 204));
    expect((await send(23, headersOf(23))).status).toBe(204);
    await receiver.says(`${idOf(23)} session.created 23\n`);
    expect(receiver.said().split(`${idOf(22)} session.created 22\n`)).toHaveLength(2);
    expect(readdirSync(receiver.folder).filter((name) => name.includes(idOf(22)))).toEqual([`${idOf(22)}.json`]);
  });

  it("answers 503 and says why while it cannot store, and stores the same event when it can again", async () => {
    const { folder } = receiver;
    const away = `${folder}-away`;
    const faults: Record<string, () => void> = {
      missing: () => {},
      "no folder": () => symlinkSync("/dev/null", folder),
      // The permissions of a folder do not bind root.
      "read-only": () => {
        if (process.getuid?.() === 0) return symlinkSync("/sys", folder);
        mkdirSync(folder);
        chmodSync(folder, 0o555);
      },
    };
    expect((await send(30, headersOf(30))).status).toBe(204);
    await receiver.says(`${idOf(30)} session.created 30\n`);
    for (const [i, breakFolder] of Object.values(faults).entries()) {
      const seq = 31 + i;
      renameSync(folder, away);
      breakFolder();
      try {
        const before = receiver.said().length;
        const answer = await send(seq, headersOf(seq));
        expect([answer.status, answer.text.trim()]).toEqual([503, "not stored"]);
        await until(async () => /not stored: \S/.test(receiver.said().slice(before)));
        // One that it has is not taken for a duplicate either, because it cannot know.
        expect((await send(30, headersOf(30))).status).toBe(503);
      } finally {
        rmSync(folder, { recursive: true, force: true });
        renameSync(away, folder);
      }
      expect(receiver.said()).not.toContain(`${idOf(seq)} session.created`);
      for (let attempt = 0; attempt < 2; attempt++) expect((await send(seq, headersOf(seq))).status).toBe(204);
      await receiver.says(`${idOf(seq)} session.created ${seq}\n`);
      expect(readFileSync(join(folder, `${idOf(seq)}.json`), "utf8")).toBe(bodyOf(seq));
      expect(receiver.said().split(`${idOf(seq)} session.created`)).toHaveLength(2);
    }
    expect((await send(30, headersOf(30))).status).toBe(204);
    expect(receiver.said().split(`${idOf(30)} session.created`)).toHaveLength(2);
  });

  it("accepts two signatures when its secret made one of them", async () => {
    const [right, wrong] = [signature(SECRET, 4), signature(OTHER, 4)];
    const at = String(now());
    expect(
      (await send(4, headersOf(4, { "webhook-signature": `${wrong} ${right}`, "webhook-timestamp": at }))).status,
    ).toBe(204);
    expect(
      (await send(4, headersOf(4, { "webhook-signature": `${right} ${wrong}`, "webhook-timestamp": at }))).status,
    ).toBe(204);
  });

  it("accepts an event that was sent 290 s before or after", async () => {
    expect((await send(5, headersOf(5, {}, now() - 290))).status).toBe(204);
    expect((await send(6, headersOf(6, {}, now() + 290))).status).toBe(204);
  });

  it.each<[string, Record<string, string>, string?]>([
    ["another secret", { "webhook-signature": signature(OTHER, 7) }, "wrong signature"],
    ["two other secrets", { "webhook-signature": `${signature(OTHER, 7)} v1,AAAA` }, "wrong signature"],
    ["another version", { "webhook-signature": signature(SECRET, 7).replace("v1", "v2") }, "wrong signature"],
    ["another id", { "webhook-id": idOf(8) }, "wrong signature"],
    ["an empty id", { "webhook-id": "" }, "a header is missing"],
    ["an id that is no file name", { "webhook-id": "../seen" }, "no id of the service"],
    ["an empty timestamp", { "webhook-timestamp": "" }, "a header is missing"],
    ["an empty signature", { "webhook-signature": "" }, "a header is missing"],
    ["a timestamp that is no number", { "webhook-timestamp": "soon" }, "too old, or from the future"],
  ])("refuses %s with 400 and says why", async (_, change, why) => {
    const answer = await send(7, headersOf(7, change));
    expect([answer.status, answer.text.trim()]).toEqual([400, why]);
    await receiver.says(`refused: ${why}`);
    expect(receiver.said()).not.toContain(`${idOf(7)} `);
  });

  it("refuses a request that is not a webhook's", async () => {
    const answer = await send(7, { "content-type": "application/json" });
    expect([answer.status, answer.text.trim()]).toEqual([400, "a header is missing"]);
  });

  it("refuses a body in which one byte was changed", async () => {
    for (const body of [bodyOf(9).replace("900220", "900221"), `${bodyOf(9)}\n`]) {
      expect((await send(9, headersOf(9), body)).status).toBe(400);
    }
    expect(receiver.said()).not.toContain(`${idOf(9)} `);
  });

  it("refuses an event from more than 300 s ago or from the future", async () => {
    for (const away of [-400, 400]) {
      const answer = await send(10, headersOf(10, {}, now() + away));
      expect([answer.status, answer.text.trim()]).toEqual([400, "too old, or from the future"]);
    }
    expect(receiver.said()).not.toContain(`${idOf(10)} `);
  });

  it("accepts what the service posts, also while its secret is rotated", async () => {
    const { siteId, ...app } = await worker.provision([10411]);
    const port = await freePort();
    const webhooks = `/admin/sites/${siteId}/webhooks`;
    const { id, secret } = await worker.admin<{ id: string; secret: string }>("POST", webhooks, {
      url: `http://127.0.0.1:${port}/`,
    });
    const own = await start(language, port, secret);
    try {
      const client = new AgentSessionClient({ baseUrl: worker.url, ...app });
      const open = () =>
        client.createSession({
          customer: { id: "c", name: "王伟", ip: "203.0.113.7" },
          content: '我的订单在哪里？ 🙂 \\ "data":{"seq":99} \u2028\u0000</script>',
          agentIds: [10411],
          responsibleAgentId: 10411,
        });
      await open();
      await own.says(" session.created 1\n");
      await worker.admin("POST", `${webhooks}/${id}/rotate`);
      await open();
      await own.says(" session.created 2\n");
      expect(own.said()).not.toContain("refused");
    } finally {
      own.close();
    }
  });

  it("goes on after a sender hung up in the middle of a body", async () => {
    await new Promise<void>((resolve) => {
      const socket = connect(Number(new URL(receiver.url).port), "127.0.0.1", () => {
        socket.write("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\n{", () => {
          socket.destroy();
          resolve();
        });
      });
    });
    expect((await send(11, headersOf(11))).status).toBe(204);
    await receiver.says(`${idOf(11)} session.created 11\n`);
  });
});

/** Starts a receiver in a plain locale, with a folder of its own, and waits until it listens. */
async function start({ run, cgi }: Language, port: number, secret: string) {
  const folder = mkdtempSync(join(tmpdir(), "receiver-"));
  const { PATH, HOME, TMPDIR } = process.env;
  const settings = { PATH, HOME, TMPDIR, LC_ALL: "C", SECRET: secret, PORT: String(port), SEEN: folder };
  let said = "";
  const launch = (more: Record<string, string> = {}) => {
    const [command = "", ...args] = run(port);
    // A process group of its own, because `go run` starts the program as its child.
    const child = spawn(command, args, {
      cwd: EXAMPLES,
      env: { ...settings, ...more } as unknown as NodeJS.ProcessEnv,
      detached: true,
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
    return child;
  };
  let stop: () => void;
  if (cgi) {
    const server = createServer((request, response) => {
      const asked = Object.entries(request.headers).map(([name, value]) => [
        `HTTP_${name.toUpperCase().replaceAll("-", "_")}`,
        String(value),
      ]);
      const child = launch({ ...Object.fromEntries(asked), CONTENT_LENGTH: request.headers["content-length"] ?? "0" });
      request.pipe(child.stdin).on("error", () => {});
      request.on("error", () => child.stdin.destroy());
      let answer = "";
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        answer += text;
      });
      // The answer ends when the program closes its output; its work may go on.
      child.stdout.on("end", () => {
        const [head = "", text] = answer.split("\r\n\r\n");
        response.writeHead(Number(head.match(/^Status: (\d+)/)?.[1] ?? 500)).end(text);
      });
    }).listen(port, "127.0.0.1");
    stop = () => server.close();
  } else {
    const child: ChildProcess = launch();
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
    stop = () => process.kill(-(child.pid ?? 0), "SIGKILL");
  }
  await until(() => listens(port), TIME - 5_000);
  return {
    folder,
    url: `http://127.0.0.1:${port}/`,
    said: () => said,
    says: (text: string) => until(async () => said.includes(text)),
    close: () => {
      stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function until(condition: () => Promise<boolean>, limit = 30_000): Promise<void> {
  const end = Date.now() + limit;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error("it did not come");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    }).on("error", () => resolve(false));
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
