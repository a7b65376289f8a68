import { describe, expect, it } from "vitest";
import { main } from "../../../src/tools/cli/call.ts";
import { faultsOf, runOnce } from "../../../src/tools/cli/drill-call.ts";
import { Listener } from "../../support/listener.ts";
import { runMain } from "../../support/run-main.ts";

type Try = Parameters<typeof faultsOf>[1]["tries"][number];

/** A try that was answered at once, `second` seconds after the start, with a ranstr of its own. */
const tryAt = (second: number, fields: Partial<Try> = {}): Try => ({
  at: second * 1_000,
  answeredAt: second * 1_000,
  ranstr: `ranstr ${second}`,
  status: 200,
  code: 1,
  isReplayed: false,
  isHungUp: false,
  detail: "",
  ...fields,
});
const LOST = { status: 502, code: undefined };
const BUSY = { status: 503, code: -1, detail: "x-drill: busy was asked for, so nothing was done" };

describe("the judgement of a program under a drill", () => {
  it.each<[string, ...Parameters<typeof faultsOf>]>([
    [
      "a repetition after a lost answer",
      "lost-answer",
      { exitCode: 0, tries: [tryAt(0, LOST), tryAt(2, { isReplayed: true })] },
    ],
    [
      "a call after two busy answers and their pauses",
      "busy",
      { exitCode: 0, tries: [tryAt(0, BUSY), tryAt(1, BUSY), tryAt(2)] },
    ],
    [
      "a second try at once after a broken connection",
      "busy",
      { exitCode: 0, tries: [tryAt(0, { status: null, code: undefined }), tryAt(0.1, BUSY), tryAt(2)] },
    ],
    ["a failure after three busy answers", "busy", { exitCode: 1, tries: [0, 1, 2].map((at) => tryAt(at, BUSY)) }],
    [
      "a repetition of each of two calls",
      "lost-answer",
      { exitCode: 0, tries: [LOST, { isReplayed: true }, LOST, { isReplayed: true }].map((each, i) => tryAt(i, each)) },
    ],
    [
      "two requests without a ranstr, as a look at another page is,",
      "slow",
      { exitCode: 0, tries: [tryAt(0, { ranstr: undefined }), tryAt(1, { ranstr: undefined })] },
    ],
    ["an answer that was waited for", "slow", { exitCode: 0, tries: [tryAt(0, { answeredAt: 12_000 })] }],
    [
      "a repetition after a time limit",
      "slow",
      { exitCode: 0, tries: [tryAt(0, { answeredAt: 12_000, isHungUp: true }), tryAt(11, { isReplayed: true })] },
    ],
  ])("%s is right", (_, drill, run) => expect(faultsOf(drill, run)).toEqual([]));

  it.each<[string, RegExp, ...Parameters<typeof faultsOf>]>([
    ["no call", /made no call/, "busy", { exitCode: 0, tries: [] }],
    [
      "a ranstr that is sent twice",
      /a ranstr twice/,
      "busy",
      { exitCode: 1, tries: [tryAt(0, BUSY), tryAt(1, { ...BUSY, ranstr: "ranstr 0" })] },
    ],
    ["a pause below Retry-After", /did not wait/, "busy", { exitCode: 0, tries: [tryAt(0, BUSY), tryAt(0.5)] }],
    [
      "a failure after two busy answers",
      /gave up after 2 tries/,
      "busy",
      { exitCode: 1, tries: [tryAt(0, BUSY), tryAt(1, BUSY)] },
    ],
    [
      "a failure that ends with the exit code 0",
      /exit code 0/,
      "busy",
      { exitCode: 0, tries: [0, 1, 2].map((at) => tryAt(at, BUSY)) },
    ],
    ["a success that ends with another exit code", /exit code 7/, "slow", { exitCode: 7, tries: [tryAt(0)] }],
    [
      "two sessions for one call",
      /opened 2 sessions/,
      "slow",
      { exitCode: 0, tries: [tryAt(0, { isHungUp: true }), tryAt(11)] },
    ],
    [
      "a call that was done, and whose answer is unknown",
      /never learned the answer/,
      "lost-answer",
      { exitCode: 1, tries: [tryAt(0, LOST)] },
    ],
    [
      "a call that was answered after one busy answer",
      /Too few of its calls were refused, by luck: run it again/,
      "busy",
      { exitCode: 0, tries: [tryAt(0, BUSY), tryAt(1)] },
    ],
    [
      "a refusal",
      /refused, so this drill shows nothing: fzr_uid/,
      "slow",
      { exitCode: 1, tries: [tryAt(0, { status: 400, code: -1, detail: "fzr_uid: is required" })] },
    ],
    [
      "a refusal 503 that no drill asked for",
      /refused, so this drill shows nothing: the site is closed/,
      "busy",
      { exitCode: 1, tries: [0, 1, 2].map((at) => tryAt(at, { ...BUSY, detail: "the site is closed" })) },
    ],
    [
      "a second try that is refused",
      /A later try was refused: Idempotency-Key: another meaning/,
      "lost-answer",
      { exitCode: 1, tries: [tryAt(0, LOST), tryAt(1, { code: -1, detail: "Idempotency-Key: another meaning" })] },
    ],
    ["a program that does not end", /did not end in 120 s/, "slow", { exitCode: null, tries: [tryAt(0)] }],
    [
      "a program that neither calls nor ends",
      /no call.*\n.*did not end in 120 s/,
      "slow",
      { exitCode: null, tries: [] },
    ],
  ])("%s is a fault", (_, fault, drill, run) => expect(faultsOf(drill, run).join("\n")).toMatch(fault));
});

/** Runs something with the address of a server that answers each call with a session. @returns its result, and what the server got */
async function withListener<T>(run: (url: string) => Promise<T>) {
  const server = await Listener.start();
  try {
    return [await run(server.url), server.received] as const;
  } finally {
    await server.close();
  }
}

describe("npm run call -- drill", () => {
  it.each([
    [["{}"], "drill takes no body: it runs a program, which makes its own call."],
    [
      ["--url", "sessions.example.com"],
      '--url "sessions.example.com" is not an address: it begins with http:// or https://.',
    ],
  ])("npm run call -- drill %j is a wrong call", async (args, message) => {
    const { exitCode, stderr } = await runMain(main, ["drill", ...args]);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(message)]);
  });

  it("npm run call -- drill names a program that does not start", async () => {
    const { exitCode, stderr } = await runMain(main, ["drill", "--", "no-such-program-here"]);
    expect([exitCode, stderr]).toEqual([1, expect.stringMatching(/^no-such-program-here does not start: /)]);
  });

  it("npm run call -- drill adds the header to the program's own bytes and headers, and changes nothing else", async () => {
    const program = `fetch(process.env.BASE_URL + "/openapi/chat/create_gd", { method: "POST", body: '{"ranstr": 1} ', headers: { "x-chat-signature": "ab", "idempotency-key": "k" } }).then((answer) => answer.json()).then(({ data }) => console.log(data.chat_id))`;
    const { PATH } = process.env;
    const [{ stdout, stderr }, received] = await withListener((url) =>
      runMain(main, ["drill", "--url", url, "--", "node", "-e", program], { env: { PATH } }),
    );
    expect(received.slice(0, 2)).toMatchObject(
      ["lost-answer", "busy"].map((drill) => ({
        path: "/openapi/chat/create_gd",
        body: Buffer.from('{"ranstr": 1} '),
        headers: { "x-drill": drill, "x-chat-signature": "ab", "idempotency-key": "k" },
      })),
    );
    expect(stderr).toMatch(/^(\| 7\n)+$/);
    expect(stdout).toMatch(/Too few of its calls were refused, by luck: run it again\./);
  });

  const runBy = (script: string, err: (line: string) => unknown = () => {}) =>
    withListener((url) => runOnce("slow", url, ["sh", "-c", script], process.env, { err }));
  const runNode = (program: string) => runBy(`exec node -e '${program}'`);

  it("a program's own header x-drill does not replace the one of the drill", async () => {
    const [{ tries }, [request]] = await runNode(
      `fetch(process.env.BASE_URL, { method: "POST", body: "{}", headers: { "x-drill": "busy" } })`,
    );
    expect([tries, request?.headers["x-drill"]]).toEqual([[expect.objectContaining({ code: 1 })], "slow"]);
  });

  it("a HEAD of the program goes on without a body", async () => {
    const [{ tries }, [request]] = await runNode(`fetch(process.env.BASE_URL, { method: "HEAD" })`);
    expect([tries, request?.method]).toEqual([[expect.objectContaining({ status: 200 })], "HEAD"]);
  });

  it("a program that hangs up in the middle of a body made a call, and may make another", async () => {
    const [{ tries, exitCode }, received] = await runNode(`
      const half = require("http").request(process.env.BASE_URL, { method: "POST", headers: { "content-length": 9 } });
      half.on("error", () => fetch(process.env.BASE_URL, { method: "POST", body: "{}" }));
      half.write("{", () => setTimeout(() => half.destroy(new Error("enough")), 100));
    `);
    expect(tries).toMatchObject([{ status: null, isHungUp: true }, { code: 1 }]);
    expect([received.length, exitCode]).toEqual([1, 0]);
  });

  it("a program that runs too long is stopped, also when another process holds its output open", async () => {
    const printed: string[] = [];
    const io = { err: (text: string) => printed.push(text) };
    const [{ exitCode }] = await withListener((url) =>
      runOnce("slow", url, ["sh", "-c", "sleep 60 & echo $!; wait"], process.env, io, 500),
    );
    process.kill(Number(printed.join("").slice(2)));
    expect(exitCode).toBeNull();
  });

  it("what a program prints is shown by whole lines", async () => {
    const lines: string[] = [];
    await runBy("printf 'one li'; sleep 0.1; printf 'ne\\n\\nand another'", (line) => lines.push(line));
    expect(lines).toEqual(["| one line", "| ", "| and another"]);
  });

  it("a program that a signal ended has the exit code that shells give it", async () => {
    const [{ exitCode }] = await runBy("kill -SEGV $$");
    expect(exitCode).toBe(139);
  });
});
