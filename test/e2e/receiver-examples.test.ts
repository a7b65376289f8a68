import { createHmac } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AgentSessionClient } from "../../src/client/client.ts";
import { freePort } from "../../src/tools/cli/local-address.ts";
import { type Program, RECEIVER_RULES, RECEIVERS } from "../../src/tools/docs/programs.ts";
import { type BuiltWorker, startBuiltWorker } from "../support/built-worker.ts";
import { commandOf, EXAMPLES, runExample, runnablePrograms, startExample } from "../support/run-example.ts";

const SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const OTHER = `whsec_${Buffer.alloc(32, 8).toString("base64")}`;

/** The time limit in milliseconds. The first run of Go also compiles its library. */
const TIME = 240_000;

const now = () => Math.floor(Date.now() / 1000);

/** The body of an event. The customer's text in it imitates JSON of the service. */
const bodyOf = (seq: number) =>
  `{"type":"session.created","timestamp":"2027-01-15T08:00:00.000Z","data":{"seq":${seq},"appid":"a","chat_id":900220,"messages":[{"sender":"visitor","sender_uid":null,"content":"王伟 🙂 \\"data\\":{\\"seq\\":99 </script>\\n"}]}}`;

/** The body of an event whose text makes it this many bytes long. */
const bodyOfSize = (seq: number, bytes: number) =>
  bodyOf(seq).replace("王伟", `王伟${"a".repeat(bytes - Buffer.byteLength(bodyOf(seq)))}`);

const idOf = (seq: number) => `evt_${String(seq).padStart(32, "0")}`;

/** The headers of an event. Their signatures are made with `secrets`. */
function headersOf(
  seq: number,
  change: Record<string, string> = {},
  { at = now(), secrets = [SECRET], body = bodyOf(seq) as string | Buffer } = {},
): Record<string, string> {
  const sign = (secret: string) => {
    const mac = createHmac("sha256", Buffer.from(secret.replace("whsec_", ""), "base64"));
    return `v1,${mac
      .update(`${idOf(seq)}.${at}.`)
      .update(body)
      .digest("base64")}`;
  };
  return {
    "content-type": "application/json",
    "user-agent": "agent-session-webhooks/1",
    "webhook-id": idOf(seq),
    "webhook-timestamp": String(at),
    "webhook-signature": secrets.map(sign).join(" "),
    ...change,
  };
}

const linesOf = (headers: Record<string, string>) =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");

const request = (lines: string, body = "{}", first = "POST / HTTP/1.1") => `${first}\r\nhost: a\r\n${lines}\r\n${body}`;

/** The bytes of the request for a signed event. */
const requestOf = (seq: number, body: string) =>
  request(`${linesOf(headersOf(seq, {}, { body }))}content-length: ${Buffer.byteLength(body)}\r\n`, body);

let worker: BuiltWorker;
let receivers: Receiver[] = [];
const buildFolder = mkdtempSync(join(tmpdir(), "receivers-"));
const programs = runnablePrograms(RECEIVERS);

beforeAll(async () => {
  const listening = programs.map(async (program) =>
    start({ ...program, command: commandOf(program, buildFolder) }, await freePort("127.0.0.1"), SECRET),
  );
  worker = await startBuiltWorker({ vars: { WEBHOOK_LOOPBACK: "allow" } });
  receivers = await Promise.all(listening);
}, TIME);

afterAll(async () => {
  for (const receiver of receivers) receiver.close();
  await worker?.close();
  rmSync(buildFolder, { recursive: true });
});

/** A test that all receivers must pass. It runs on all of them at the same time. */
const every = (trial: (receiver: Receiver) => Promise<void>) => async () => {
  const trials = receivers.map(async (receiver) => {
    try {
      await trial(receiver);
    } catch (error) {
      if (error instanceof Error) error.message = `${receiver.program.language}: ${error.message}`;
      throw error;
    }
  });
  await Promise.all(trials);
};

async function send({ url }: Receiver, seq: number, headers: Record<string, string>, body: BodyInit = bodyOf(seq)) {
  const answer = await fetch(url, { method: "POST", headers, body });
  return { status: answer.status, text: await answer.text() };
}

const DESCRIBED: Record<keyof typeof RECEIVER_RULES, () => void> = {
  starts,
  verifies,
  stores,
  bounds_bytes,
  bounds_time,
  bounds_places,
  stays_plain,
  ends,
};

describe.each(Object.entries(RECEIVER_RULES))("%s: each receiver %s", (rule) =>
  DESCRIBED[rule as keyof typeof DESCRIBED](),
);

function starts() {
  const REFUSED: Record<string, string | undefined> = {
    missing: undefined,
    empty: "",
    "only whsec_": "whsec_",
    "of 23 bytes": `whsec_${Buffer.alloc(23, 7).toString("base64")}`,
    "without whsec_": SECRET.replace("whsec_", ""),
    "not base64": SECRET.replace("Bw", "!!"),
    "base64 of URLs": SECRET.replaceAll("B", "_"),
  };
  it(
    "each receiver refuses each wrong secret at its start",
    every(async ({ program }) => {
      const runs = Object.entries(REFUSED).map(async ([what, secret]) => {
        const settings = {
          PORT: String(await freePort("127.0.0.1")),
          ...(secret === undefined ? {} : { SECRET: secret }),
        };
        expect(await runExample(program.command, settings), what).toEqual({
          status: 1,
          stdout: "",
          stderr: "SECRET must be whsec_ and base64 of at least 24 bytes\n",
        });
      });
      await Promise.all(runs);
    }),
  );

  it(
    "each receiver is built and run as its page says, takes a secret of 24 bytes, and makes a folder when SEEN is empty",
    every(async ({ program }) => {
      const { file, build = ":", run } = program;
      const copy = mkdtempSync(join(buildFolder, "copy-"));
      copyFileSync(join(EXAMPLES, file), join(copy, file));
      // With exec, the program replaces the shell in its process.
      const command = ["sh", "-c", `cd '${copy}' && ${build} && exec ${run}`];
      const secret = `whsec_${Buffer.alloc(24, 9).toString("base64")}`;
      const port = await freePort("127.0.0.1");
      const ownReceiver = await start({ ...program, command }, port, secret, "");
      const fileNames = () =>
        readdirSync(tmpdir()).filter(
          (name) => name.startsWith("events-") && existsSync(join(tmpdir(), name, `${idOf(port)}.json`)),
        );
      try {
        expect((await send(ownReceiver, port, headersOf(port, {}, { secrets: [secret] }))).status).toBe(204);
        expect(fileNames()).toHaveLength(1);
      } finally {
        ownReceiver.close();
        for (const name of fileNames()) rmSync(join(tmpdir(), name), { recursive: true });
      }
    }),
    TIME,
  );
}

function verifies() {
  it(
    "each receiver accepts two signatures when its secret made one of them",
    every(async (receiver) => {
      for (const secrets of [
        [OTHER, SECRET],
        [SECRET, OTHER],
      ])
        expect((await send(receiver, 4, headersOf(4, {}, { secrets }))).status).toBe(204);
    }),
  );

  it(
    "each receiver accepts an event whose timestamp is 290 s in the past or in the future",
    every(async (receiver) => {
      for (const [seq, away] of [
        [5, -290],
        [6, 290],
      ] as const)
        expect((await send(receiver, seq, headersOf(seq, {}, { at: now() + away }))).status).toBe(204);
    }),
  );

  const rightSignature = () => headersOf(7)["webhook-signature"] ?? "";
  const REFUSED: [string, () => Record<string, string>, string][] = [
    ["another secret", () => headersOf(7, {}, { secrets: [OTHER] }), "wrong signature"],
    ["two other secrets", () => headersOf(7, {}, { secrets: [OTHER, OTHER] }), "wrong signature"],
    [
      "another version",
      () => headersOf(7, { "webhook-signature": rightSignature().replace("v1", "v2") }),
      "wrong signature",
    ],
    ["half a signature", () => headersOf(7, { "webhook-signature": rightSignature().slice(0, 20) }), "wrong signature"],
    ["another id", () => headersOf(7, { "webhook-id": idOf(8) }), "wrong signature"],
    ["an empty id", () => headersOf(7, { "webhook-id": "" }), "a header is missing"],
    ["an id that is no file name", () => headersOf(7, { "webhook-id": "../seen" }), "no id of the service"],
    ["an empty timestamp", () => headersOf(7, { "webhook-timestamp": "" }), "a header is missing"],
    ["an empty signature", () => headersOf(7, { "webhook-signature": "" }), "a header is missing"],
    ["no header of a webhook", () => ({}), "a header is missing"],
    [
      "a timestamp that is no number",
      () => headersOf(7, { "webhook-timestamp": "soon" }),
      "too old, or from the future",
    ],
  ];
  for (const [what, headers, why] of REFUSED) {
    it(
      `each receiver refuses ${what} with 400 and says why`,
      every(async (receiver) => {
        const answer = await send(receiver, 7, headers());
        expect([answer.status, answer.text.trim()]).toEqual([400, why]);
        await receiver.says(`refused: ${why}`);
        expect(receiver.output()).not.toContain(`${idOf(7)} `);
      }),
    );
  }

  it(
    "each receiver refuses a body in which one byte was changed",
    every(async (receiver) => {
      for (const body of [bodyOf(9).replace("900220", "900221"), `${bodyOf(9)}\n`]) {
        expect((await send(receiver, 9, headersOf(9), body)).status).toBe(400);
      }
      expect(receiver.output()).not.toContain(`${idOf(9)} `);
    }),
  );

  it(
    "each receiver refuses an event whose timestamp is more than 300 s in the past or in the future",
    every(async (receiver) => {
      for (const away of [-302, 400]) {
        const answer = await send(receiver, 10, headersOf(10, {}, { at: now() + away }));
        expect([answer.status, answer.text.trim()]).toEqual([400, "too old, or from the future"]);
      }
    }),
  );

  it.each([
    ["", false],
    ["with the secret of before during an overlap, ", true],
  ])(
    "%seach receiver passes the drill of the service, and acts once on the event that comes twice",
    async (_, isRotated) => {
      await every(async (receiver) => {
        const { siteId } = await worker.provision([10411]);
        const port = await freePort("127.0.0.1");
        const webhooks = `/admin/sites/${siteId}/webhooks`;
        const url = `http://127.0.0.1:${port}/`;
        const { id, secret } = await worker.admin<{ id: string; secret: string }>("POST", webhooks, { url });
        if (isRotated) await worker.admin("POST", `${webhooks}/${id}/rotate`);
        const ownReceiver = await start(receiver.program, port, secret);
        try {
          const drill = await worker.admin<{ ok: boolean }>("POST", `${webhooks}/${id}/drill`);
          expect(drill).toMatchObject({ ok: true });
          await until(async () => ownReceiver.output().split(" ping 0\n").length > 2);
          expect(ownReceiver.output().split(" ping 0\n")).toHaveLength(3);
        } finally {
          ownReceiver.close();
        }
      })();
    },
  );

  it(
    "each receiver accepts what the service posts, also while its secret is rotated",
    every(async (receiver) => {
      const { siteId, ...app } = await worker.provision([10411]);
      const port = await freePort("127.0.0.1");
      const webhooks = `/admin/sites/${siteId}/webhooks`;
      const { id, secret } = await worker.admin<{ id: string; secret: string }>("POST", webhooks, {
        url: `http://127.0.0.1:${port}/`,
      });
      const ownReceiver = await start(receiver.program, port, secret);
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
        await ownReceiver.says(" session.created 1\n");
        await worker.admin("POST", `${webhooks}/${id}/rotate`);
        await open();
        await ownReceiver.says(" session.created 2\n");
        expect(ownReceiver.output()).not.toContain("refused");
      } finally {
        ownReceiver.close();
      }
    }),
  );
}

function stores() {
  it(
    "each receiver handles an event that arrives twice only once, and answers 2xx to both requests",
    every(async (receiver) => {
      expect((await send(receiver, 2, headersOf(2))).status).toBe(204);
      expect((await send(receiver, 2, headersOf(2, {}, { at: now() - 1 }))).status).toBe(204);
      expect((await send(receiver, 3, headersOf(3))).status).toBe(204);
      await receiver.says(`${idOf(3)} session.created 3\n`);
      expect(receiver.output().split(`${idOf(2)} session.created 2\n`)).toHaveLength(2);
    }),
  );

  it(
    "each receiver stores an event under its id, byte by byte, before it answers, and prints which event it is",
    every(async (receiver) => {
      expect(await send(receiver, 20, headersOf(20))).toEqual({ status: 204, text: "" });
      expect(readFileSync(join(receiver.folder, `${idOf(20)}.json`), "utf8")).toBe(bodyOf(20));
      await receiver.says(`${idOf(20)} session.created 20\n`);
      expect((await send(receiver, 21, headersOf(21, {}, { secrets: [OTHER] }))).status).toBe(400);
      expect(readdirSync(receiver.folder).filter((name) => name.includes(idOf(21)))).toEqual([]);
    }),
  );

  it(
    "each receiver answers 204 for each event that it stores, when two come together on one connection",
    every(async (receiver) => {
      const caller = call(receiver);
      await caller.write(`${requestOf(23, bodyOf(23))}${requestOf(24, bodyOf(24))}`);
      await caller.closed;
      const names = readdirSync(receiver.folder).filter((name) => name.includes(idOf(23)) || name.includes(idOf(24)));
      expect(names[0]).toBe(`${idOf(23)}.json`);
      expect(caller.answer().match(/^HTTP\S+ 204/gm)).toHaveLength(names.length);
    }),
  );

  it(
    "each receiver stores an event that arrives eight times simultaneously only once",
    every(async (receiver) => {
      const answers = await Promise.all(Array.from({ length: 8 }, () => send(receiver, 22, headersOf(22))));
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 204));
      expect((await send(receiver, 23, headersOf(23))).status).toBe(204);
      await receiver.says(`${idOf(23)} session.created 23\n`);
      expect(receiver.output().split(`${idOf(22)} session.created 22\n`)).toHaveLength(2);
      expect(readdirSync(receiver.folder).filter((name) => name.includes(idOf(22)))).toEqual([`${idOf(22)}.json`]);
    }),
  );

  it(
    "each receiver answers 503 and says why while it cannot store, and stores the same event later",
    every(async (receiver) => {
      const { folder } = receiver;
      const away = `${folder}-away`;
      const faults: Record<string, () => void> = {
        missing: () => {},
        "no folder": () => symlinkSync("/dev/null", folder),
        // Root may write into any folder, so /sys is used for root.
        "read-only": () => {
          if (process.getuid?.() === 0) return symlinkSync("/sys", folder);
          mkdirSync(folder);
          chmodSync(folder, 0o555);
        },
      };
      expect((await send(receiver, 30, headersOf(30))).status).toBe(204);
      await receiver.says(`${idOf(30)} session.created 30\n`);
      for (const [i, breakFolder] of Object.values(faults).entries()) {
        const seq = 31 + i;
        renameSync(folder, away);
        breakFolder();
        try {
          const before = receiver.output().length;
          const answer = await send(receiver, seq, headersOf(seq));
          expect([answer.status, answer.text.trim()]).toEqual([503, "not stored"]);
          await until(async () => /not stored: \S/.test(receiver.output().slice(before)));
          // An event that it has stored gets 503 too, because the receiver cannot see that it has it.
          expect((await send(receiver, 30, headersOf(30))).status).toBe(503);
        } finally {
          rmSync(folder, { recursive: true, force: true });
          renameSync(away, folder);
        }
        expect(receiver.output()).not.toContain(`${idOf(seq)} session.created`);
        for (let attempt = 0; attempt < 2; attempt++)
          expect((await send(receiver, seq, headersOf(seq))).status).toBe(204);
        await receiver.says(`${idOf(seq)} session.created ${seq}\n`);
        expect(readFileSync(join(folder, `${idOf(seq)}.json`), "utf8")).toBe(bodyOf(seq));
        expect(receiver.output().split(`${idOf(seq)} session.created`)).toHaveLength(2);
      }
      expect((await send(receiver, 30, headersOf(30))).status).toBe(204);
      expect(receiver.output().split(`${idOf(30)} session.created`)).toHaveLength(2);
    }),
  );
}

function bounds_bytes() {
  it(
    "each receiver takes an event of 256 KiB, also in pieces",
    every(async (receiver) => {
      const large = bodyOfSize(40, 256 * 1024);
      const request = requestOf(40, large);
      const caller = call(receiver);
      for (const [from, to] of [
        [0, 700],
        [700, 60_000],
        [60_000, undefined],
      ])
        await caller.write(request.slice(from, to));
      await caller.closed;
      expect(caller.answer()).toMatch(/^HTTP\/1\.[01] 204/);
      expect(readFileSync(join(receiver.folder, `${idOf(40)}.json`), "utf8")).toBe(large);
    }),
  );

  it(
    "each receiver refuses a body of 256 KiB + 1 byte, also when it is signed and comes in a chunk",
    every(async (receiver) => {
      const large = bodyOfSize(42, 256 * 1024 + 1);
      const chunk = `${(256 * 1024 + 1).toString(16)}\r\n${large}\r\n0\r\n\r\n`;
      const length = `content-length: ${256 * 1024 + 1}\r\n`;
      const plain = requestOf(42, large);
      for (const request of [plain, plain.replace(length, "transfer-encoding: chunked\r\n").replace(large, chunk)]) {
        const caller = call(receiver);
        await caller.write(request);
        await caller.closed;
        expect(caller.answer()).toMatch(/^(HTTP\/1\.[01] 41[13]|$)/);
        expect(readdirSync(receiver.folder).join()).not.toContain(idOf(42));
      }
      expect((await send(receiver, 42, headersOf(42))).status).toBe(204);
    }),
  );

  const lines = linesOf(headersOf(41));
  const ENDLESS: Record<string, [string, string]> = {
    "a body of 200 MB": [request(`${lines}content-length: 200000000\r\n`, ""), "a"],
    "a body in chunks": [request(`${lines}transfer-encoding: chunked\r\n`, ""), `fff8\r\n${"a".repeat(0xfff8)}\r\n`],
    "a request line": ["POST /", "a"],
    "a header": ["POST / HTTP/1.1\r\nhost: a\r\nwebhook-id: ", "a"],
    headers: ["POST / HTTP/1.1\r\nhost: a\r\n", "a: b\r\n"],
  };
  for (const [what, [head, piece]] of Object.entries(ENDLESS)) {
    it(
      `each receiver stops reading ${what} without end`,
      every(async (receiver) => {
        const before = readdirSync(receiver.folder);
        const caller = call(receiver);
        const block = piece.repeat(Math.ceil(65_536 / piece.length));
        let bytes = 0;
        await caller.write(head);
        for (; bytes < 200e6 && caller.isOpen(); bytes += block.length) await caller.write(block);
        caller.end();
        // This includes the bytes in the buffers of the two sockets.
        expect(bytes).toBeLessThan(32e6);
        expect(caller.answer()).toMatch(/^(HTTP\/1\.[01] 4\d\d|$)/);
        expect(readdirSync(receiver.folder)).toEqual(before);
      }),
    );
  }
}

/** Requests that are never whole. Their last text is sent again each second. */
const HALF: Record<string, [string, string?]> = {
  nothing: [""],
  "half a request line": ["PO"],
  "half its headers": ["POST / HTTP/1.1\r\nhost: a\r\nwebhook-"],
  "half its body": [request("content-length: 5000\r\n", "{")],
  "a byte of its first line each second": ["POST /", "a"],
  "a byte of its headers each second": ["POST / HTTP/1.1\r\nhost: a\r\nwebhook-id: ", "a"],
  "a byte of its body each second": [request("content-length: 5000\r\n", "{"), "a"],
};

function bounds_time() {
  it(
    "each receiver hangs up on a request that never ends, but not before 8 s",
    every(async (receiver) => {
      const began = Date.now();
      const callers = await Promise.all(Object.values(HALF).map((half) => hang(receiver, half)));
      const took: Record<string, number> = {};
      for (const [i, half] of Object.keys(HALF).entries()) {
        void callers[i]?.closed.then(() => {
          took[half] = (Date.now() - began) / 1000;
        });
      }
      try {
        await expect.poll(() => Object.keys(took).sort(), { timeout: 60_000 }).toEqual(Object.keys(HALF).sort());
        // The programs check once a second, and the machine may be busy.
        for (const [half, seconds] of Object.entries(took)) {
          expect(seconds, half).toBeGreaterThan(8);
          expect(seconds, half).toBeLessThan(20);
        }
      } finally {
        for (const caller of callers) caller.end();
      }
      expect(receiver.output()).not.toMatch(TRACE);
    }),
  );
}

function bounds_places() {
  it(
    "each receiver answers an event at once while 500 half-sent requests hang",
    every(async (receiver) => {
      const halves = Object.values(HALF);
      let open = 0;
      // A receiver may hang up on the oldest requests. On a busy machine their time may be over, so this tries again.
      for (let attempt = 0; attempt < 3 && open < 100; attempt++) {
        const hanging = await Promise.all(
          Array.from({ length: 500 }, (_, i) => hang(receiver, halves[i % halves.length] ?? [""])),
        );
        try {
          const seq = 1000 + attempt;
          expect((await send(receiver, seq, headersOf(seq))).status).toBe(204);
          open = hanging.filter((caller) => caller.isOpen()).length;
        } finally {
          for (const caller of hanging) caller.end();
        }
      }
      expect(open).toBeGreaterThanOrEqual(100);
    }),
  );
}

function stays_plain() {
  it(
    "each receiver goes on after a sender hung up in the middle of a body",
    every(async (receiver) => {
      const caller = call(receiver);
      await caller.write(request("content-length: 100\r\n", "{"));
      caller.end();
      expect((await send(receiver, 11, headersOf(11))).status).toBe(204);
      await receiver.says(`${idOf(11)} session.created 11\n`);
    }),
  );

  const TWO = "content-length: 2\r\n";
  const NONE = "content-length: 0\r\n";
  const lines = linesOf(headersOf(60));
  const WRONG: Record<string, string | Buffer> = {
    "no HTTP": "hello\r\n\r\n",
    "a TLS hello": Buffer.from("16030100c6010000c20303", "hex"),
    "a zero byte": request(NONE, "", "POST /\0 HTTP/1.1"),
    "an unknown version": request(NONE, "", "POST / HTTP/9.9"),
    "a huge header": request(`${TWO}webhook-id: ${"a".repeat(500_000)}\r\n`),
    "3,000 headers": request(`${TWO}${"a: b\r\n".repeat(3000)}`),
    "a header that is not UTF-8": Buffer.from(
      request(`${TWO}${linesOf(headersOf(60, { "webhook-signature": "v1,\xff\xfe" }))}`),
      "latin1",
    ),
    "a header twice": request(`${TWO}webhook-id: a\r\n${lines}`),
    "a header without a colon": request(`${TWO}webhook\r\n`),
    "another path": request(NONE, "", "POST /../../etc/passwd?a=%zz HTTP/1.1"),
    ...Object.fromEntries(
      ["GET", "HEAD", "CONNECT", "PUT", "DELETE", "OPTIONS", "PATCH", "BREW"].map((method) => [
        `the method ${method}`,
        request(`${TWO}${lines}`, "{}", `${method} / HTTP/1.1`),
      ]),
    ),
    ...Object.fromEntries(
      ["-1", "1e3", "0x10", "a", "999999999", "99999999999999999999999"].map((length) => [
        `a length of ${length}`,
        request(`content-length: ${length}\r\n${lines}`),
      ]),
    ),
  };
  for (const [what, bytes] of Object.entries(WRONG)) {
    it(
      `each receiver answers ${what} with a short refusal and goes on`,
      every(async (receiver) => {
        const caller = call(receiver);
        await caller.write(bytes);
        await caller.finish();
        expect(caller.answer()).not.toMatch(/^HTTP\S+ [123]/);
        expect(caller.answer().length).toBeLessThan(1000);
        expect(caller.answer() + receiver.output()).not.toMatch(TRACE);
        expect(readdirSync(receiver.folder).join()).not.toContain(idOf(60));
        expect((await send(receiver, 61, headersOf(61))).status).toBe(204);
      }),
    );
  }

  const NO_EVENTS = [
    "",
    "{",
    "null",
    "[]",
    "5",
    '"a"',
    '{"type":5}',
    '{"type":{},"data":[]}',
    '{"type":"a","data":null}',
    "[".repeat(100_000),
    Buffer.from("7b2274797065223a22ff227d", "hex"),
  ];
  it(
    "each receiver takes a signed body that is no event, says so, and goes on",
    every(async (receiver) => {
      for (const [i, text] of NO_EVENTS.entries()) {
        const seq = 70 + i;
        expect((await send(receiver, seq, headersOf(seq, {}, { body: text }), text)).status).toBe(204);
        await receiver.says(`${idOf(seq)} is no event`);
      }
      expect((await send(receiver, 90, headersOf(90))).status).toBe(204);
      expect(receiver.output()).not.toMatch(TRACE);
    }),
  );
}

function ends() {
  it(
    "each receiver ends on SIGTERM, also while a request hangs",
    every(async (receiver) => {
      const port = await freePort("127.0.0.1");
      const ownReceiver = await start(receiver.program, port, SECRET);
      const caller = await hang(ownReceiver, ["POST /"]);
      try {
        ownReceiver.child.kill("SIGTERM");
        await until(async () => !(await listens(port)));
        await until(async () => !caller.isOpen());
        await until(async () => ownReceiver.hasEnded());
        expect(ownReceiver.output()).not.toMatch(TRACE);
      } finally {
        ownReceiver.close();
      }
    }),
  );
}

/** The look of a stack trace in these languages, and of a warning of Java's library. */
const TRACE =
  /Traceback|^WARNING: |^\s+at |goroutine \d|#0 |\w\.(?:java|go|py|php|mjs):\d|\.(?:py|php)"?,? (?:on )?line \d/m;

/** Opens a connection to a receiver, on which a caller may write any bytes. */
function call({ url }: { url: string }) {
  let answer = "";
  const socket: Socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.setEncoding("latin1").on("data", (text: string) => {
    answer += text;
  });
  // A receiver may hang up at any moment.
  socket.on("error", () => {});
  const closed = new Promise<void>((resolve) => {
    socket.on("close", () => resolve());
  });
  return {
    closed,
    answer: () => answer,
    isOpen: () => !socket.destroyed,
    /** Waits until the system has taken the bytes. */
    write: (bytes: string | Buffer) =>
      Promise.race([closed, new Promise<void>((resolve) => socket.write(bytes, () => resolve()))]),
    finish: () => {
      socket.end();
      return closed;
    },
    end: () => socket.destroy(),
  };
}

/** Opens a connection whose request is never whole. */
async function hang(receiver: { url: string }, [start, again]: [string, string?]) {
  const caller = call(receiver);
  await caller.write(start);
  if (again !== undefined) {
    const timer = setInterval(() => {
      if (caller.isOpen()) void caller.write(again);
      else clearInterval(timer);
    }, 1000);
  }
  return caller;
}

type Receiver = Awaited<ReturnType<typeof start>>;

/** Starts a receiver with its own folder, and waits until it listens. */
async function start(
  program: Program & { command: string[] },
  port: number,
  secret: string,
  folder = mkdtempSync(join(tmpdir(), "receiver-")),
) {
  const child = startExample(program.command, { SECRET: secret, PORT: String(port), SEEN: folder });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  await until(() => listens(port), TIME - 5_000);
  return {
    program,
    folder,
    url: `http://127.0.0.1:${port}/`,
    output: () => output,
    says: (text: string) => until(async () => output.includes(text)),
    child,
    hasEnded,
    close: () => {
      child.kill("SIGKILL");
      if (folder !== "") rmSync(folder, { recursive: true, force: true });
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
