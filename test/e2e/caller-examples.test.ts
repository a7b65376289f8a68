import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CALLER_RULES, CALLERS, codeOf } from "../../src/tools/docs/programs.ts";
import {
  type Answer,
  deafPort,
  endless,
  HostileServer,
  http,
  type ServerTry,
  stall,
  trickle,
} from "../support/hostile-server.ts";
import { hmacOf } from "../support/listener.ts";
import { commandOf, EXAMPLES, type ExampleResult, runExample, runnablePrograms } from "../support/run-example.ts";

/** Tries each rule of CALLER_RULES on each program of CALLERS, against a server with faulty answers. */

const DOCS = join(import.meta.dirname, "../../docs");
const SECRET = "the-secret-of-this-test";

const folder = mkdtempSync(join(tmpdir(), "callers-"));

const SUCCESS = '{"code":1,"msg":"ok","data":{"chat_id":7}}';
const refusal = (msg: string) => JSON.stringify({ code: -1, msg, data: "" });
const GATEWAY = "<html>\n<h1>Bad gateway</h1>\n</html>\n";
const HEAD = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";

const ok = http(200, SUCCESS);
const unavailable = (...headers: string[]) => http(503, refusal("服务暂时不可用"), headers);
const gateway = (status: number) => http(status, GATEWAY, ["Content-Type: text/html"]);
const ahead = () => Math.floor(Date.now() / 1000) + 3600;
const late =
  (status: number): Answer =>
  (socket) =>
    http(status, refusal("token验证失败!"), [`x-error-detail: ${LATE}${ahead()}, Unix seconds`])(socket);

interface Case {
  title: string;
  /** The answers to the tries. The last one is the answer to all later tries. */
  answers: Answer[];
  tries: number;
  /** The expected line on stderr. Without it, the program must print the chat_id. */
  says?: RegExp;
  /** The shortest time between each try and the next one, in seconds. By default it is 1. */
  pauses?: number[];
  /** How many seconds the timestamp of each try is ahead. By default it is 0. */
  ahead?: number[];
  args?: string[];
  /** Settings that replace the right ones. */
  settings?: Record<string, string>;
  /** The address that the program calls. By default it is the faulty server's. */
  url?: (port: number) => string;
}

/** A case with two answers after which a program tries again, and then a success. */
const again = (title: string, first: Answer, second: Answer, pauses?: number[]): Case => ({
  title,
  answers: [first, second, ok],
  tries: 3,
  ...(pauses && { pauses }),
});
const accepts = (title: string, answer: Answer): Case => ({ title, answers: [answer], tries: 1 });
const ends = (title: string, answer: Answer, says: RegExp): Case => ({ title, answers: [answer], tries: 1, says });
/** Cases of status 200 with bodies that are no answers of the service. */
const strange = (bodies: Record<string, string | Buffer>) =>
  Object.entries(bodies).map(([title, body]) => ends(title, http(200, body), NOT_OURS));

let deaf: Awaited<ReturnType<typeof deafPort>> | undefined;

const unsent = (name: string, value: string): Case => ({
  title: `the ${name} ${JSON.stringify(value.slice(0, 20))}`,
  answers: [ok],
  tries: 0,
  says: new RegExp(`^${name} is missing or wrong: it must match .+\n$`),
  settings: {},
  ...(name === "Idempotency-Key" ? { args: [value] } : { settings: { [name]: value } }),
});

const NO_ANSWER = /^gave up after 3 tries: no answer: /;
const NOT_OURS = /^not an answer of this service: HTTP 200; /;
const LATE = "timestamp: must be within 300 s of ";

const CASES: Record<keyof typeof CALLER_RULES, Case[]> = {
  whole: [
    {
      title: "a connection that is never made",
      answers: [],
      tries: 0,
      says: NO_ANSWER,
      url: () => `http://127.0.0.1:${deaf?.port}`,
    },
    {
      title: "a TLS handshake that is never answered",
      answers: [],
      tries: 0,
      says: NO_ANSWER,
      url: (port) => `https://127.0.0.1:${port}`,
    },
    again(
      "headers that never come, and that come byte by byte",
      stall(""),
      trickle("HTTP/1.1 200 OK\r\nx-slow: ", "x"),
    ),
    again(
      "a body that stalls after half, and that comes byte by byte",
      stall(`${HEAD}Content-Length: ${SUCCESS.length}\r\n\r\n${SUCCESS.slice(0, 20)}`),
      trickle(`${HEAD}Content-Length: 5000\r\n\r\n{`, " "),
    ),
    again(
      "chunks that come byte by byte, and trailers without an end",
      trickle(`${HEAD}Transfer-Encoding: chunked\r\n\r\n`, "1\r\n \r\n"),
      endless(
        "HTTP/1.1 503 Busy\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n \r\n0\r\n",
        Buffer.from("x-more: a\r\n".repeat(6_000)),
      ),
    ),
    ends("a body without an end", endless(`${HEAD}Connection: close\r\n\r\n`, Buffer.alloc(65_536, " ")), NOT_OURS),
    accepts("an answer that takes 5 s, after interim ones", (socket) => {
      socket.write("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
      setTimeout(() => ok(socket), 5_000);
    }),
  ],
  tries: [
    { title: "a port where nobody listens", answers: [], tries: 0, says: NO_ANSWER, url: () => "http://127.0.0.1:2" },
    {
      title: "503 again and again, under a key of its own",
      answers: [unavailable()],
      tries: 3,
      args: ["order-20418"],
      says: /^gave up after 3 tries: refused: 服务暂时不可用; Idempotency-Key order-20418\n$/,
    },
  ],
  again: [
    again(
      "a connection that is closed, or reset",
      (socket) => socket.end(),
      (socket) => socket.resetAndDestroy(),
    ),
    again("408 and 429 of a gateway", gateway(408), gateway(429)),
    again("500 and 502 of a gateway", gateway(500), gateway(502)),
    again(
      "500 of a gateway in JSON, and in JSON with a code",
      http(500, '{"error":"x"}'),
      http(500, '{"code":500,"msg":"x","data":null}', ["x-request-id: g"]),
    ),
    again("503 and 504 of a gateway", gateway(503), gateway(504)),
    again("an empty 530, and 600", http(530, ""), gateway(600)),
    again(
      "429 and 503 of the service",
      http(429, refusal("请求过于频繁"), ["Retry-After: 0"]),
      unavailable("Retry-After: 0"),
    ),
    again(
      "429 and 503 of the service where refusals have status 200",
      http(200, refusal("请求过于频繁"), ["Retry-After: 0"]),
      http(200, refusal("服务暂时不可用"), ["retry-after: 0"]),
    ),
    again(
      "a body that is cut, by its length and by its chunks",
      http(200, SUCCESS.slice(0, 20), [`Content-Length: ${SUCCESS.length}`]),
      http(200, `14\r\n${SUCCESS.slice(0, 20)}\r\n`, ["Transfer-Encoding: chunked"]),
    ),
    again(
      "a success that lacks one byte, and headers that are cut",
      http(200, SUCCESS, [`Content-Length: ${SUCCESS.length + 1}`]),
      (socket) => socket.end("HTTP/1.1 200 OK\r\nConten"),
    ),
  ],
  pause: [
    again("seconds, and decimals", unavailable("Retry-After: 2"), unavailable("Retry-After: 0002.50"), [2, 2.5]),
    again(
      "two headers, and two values in one of them",
      unavailable("Retry-After: 1", "Retry-After: 3"),
      unavailable("Retry-After: 1, 3", "Retry-After: 0"),
      [3, 3],
    ),
    ends(
      "more than 60 s beside a body that is cut",
      http(503, "{", ["Retry-After: 61", "Content-Length: 100"]),
      /^gave up, because Retry-After is 61: no answer: /,
    ),
    ...["60.5", "5,", "5 6", "-1", "9".repeat(100), "Mon, 30 Nov 2099 10:00:00 GMT"].map((text) =>
      ends(
        text,
        unavailable(`Retry-After: ${text}`),
        new RegExp(`^gave up, because Retry-After is ${text}: refused: `),
      ),
    ),
  ],
  clock: [
    {
      title: "a refused timestamp, and then a gateway",
      answers: [late(401), gateway(502), ok],
      tries: 3,
      pauses: [0, 1],
      ahead: [0, 3600, 3600],
    },
    {
      title: "the time of the service refused too, where refusals have status 200",
      answers: [late(200)],
      tries: 2,
      pauses: [0],
      ahead: [0, 3600],
      says: new RegExp(`^refused: token验证失败! \\(${LATE}`),
    },
    ends(
      "a time of too many digits",
      http(401, refusal("token验证失败!"), [`x-error-detail: ${LATE}${"9".repeat(40)}, Unix seconds`]),
      /^refused: token验证失败! \(timestamp: /,
    ),
  ],
  redirect: [
    ...[301, 302, 303, 307, 308].map((status) =>
      ends(
        `${status}`,
        (socket) => http(status, "", [`Location: http://127.0.0.1:${socket.localPort}/elsewhere`])(socket),
        /^not an answer of this service: HTTP 30\d, a redirect to http:\S+\/elsewhere, which is not followed; /,
      ),
    ),
    ends("to what is no address", http(302, "", ["Location: http://[::1"]), /HTTP 302, a redirect to http:\/\/\[::1, /),
  ],
  success: [
    accepts(
      "other spaces and new fields, in chunks",
      http(200, '2c\r\n{"code": 1, "msg": "ok", "data": {"chat_id":\r\n14\r\n 7, "later": "on"} }\r\n0\r\n\r\n', [
        "Transfer-Encoding: chunked",
      ]),
    ),
    accepts("a connection that stays open", stall(`${HEAD}Content-Length: ${SUCCESS.length}\r\n\r\n${SUCCESS}`)),
    accepts(
      "a header that looks like a status, a padded chunk and a trailer",
      http(200, `0000002a\r\n${SUCCESS}\r\n0000\r\nHTTP-Sum: 1\r\n\r\n`, ["HTTP-X: 1", "Transfer-Encoding: chunked"]),
    ),
    ends("status 201", http(201, SUCCESS), /^not an answer of this service: HTTP 201; /),
    ends("gzip, which it did not ask for", http(200, gzipSync(SUCCESS), ["Content-Encoding: gzip"]), NOT_OURS),
    ...strange({
      "more than 64 KiB": SUCCESS.replace("}}", `,"later":"${"a".repeat(70_000)}"}}`),
      "a code that is no number": '{"code":true,"msg":"ok","data":{"chat_id":7}}',
      "no chat_id": '{"code":1,"msg":"ok","data":""}',
      "a chat_id that is text": '{"code":1,"msg":"ok","data":{"chat_id":"7"}}',
    }),
  ],
  failure: [
    ends(
      "a refusal",
      http(400, refusal("参数错误"), ["x-error-detail: ip: is required", "X-Request-Id: r-1"]),
      /^refused: 参数错误 \(ip: is required\); Idempotency-Key [!-~]+, x-request-id r-1\n$/,
    ),
    ends(
      "a refusal with status 200, and control characters",
      http(200, '{"code":-1,"msg":"a\u007f\u009bb","data":""}'),
      /^refused: a +b; Idempotency-Key [!-~]+\n$/,
    ),
    ends(
      "500 of the service",
      http(500, refusal("系统错误"), ["x-request-id: r-2"]),
      /^refused: 系统错误; Idempotency-Key [!-~]+, x-request-id r-2\n$/,
    ),
    ends("a page with status 403", gateway(403), /^not an answer of this service: HTTP 403; /),
    ...strange({
      "a page": GATEWAY,
      "no text": "",
      "an array": "[1]",
      null: "null",
      "JSON that is no envelope": '{"chat_id":7}',
      "JSON that is cut": SUCCESS.slice(0, -1),
      "two answers in one": SUCCESS + SUCCESS,
      "JSON that is nested without end": "[".repeat(60_000),
      bytes: Buffer.from([0, 255, 254, 0, 128, 10, 27, 91, 50, 74]),
    }),
    ends(
      "204 on a connection that stays open",
      stall("HTTP/1.1 204 No Content\r\n\r\n"),
      /^not an answer of this service: HTTP 204; /,
    ),
    {
      title: "what is not HTTP",
      answers: [(socket) => socket.end("SSH-2.0-OpenSSH_9.2\r\n")],
      tries: 3,
      says: NO_ANSWER,
    },
    ...Object.entries({
      BASE_URL: ["", "ftp://127.0.0.1", "http://127.0.0.1:2/"],
      APPID: [""],
      SECRET: [""],
      AGENT_ID: ["", "10411, 10427", "0"],
      "Idempotency-Key": ["", "a b", "a\r\nX-Evil: 1", "订单", "a".repeat(256)],
    }).flatMap(([name, values]) => values.map((value) => unsent(name, value))),
  ],
};

interface Outcome extends ExampleResult {
  tries: ServerTry[];
  took: number;
}

/** How many programs start at a time. Starting takes the processor, and a try that waits for it would come late. */
let places = availableParallelism() + 1;
const queue: (() => void)[] = [];

async function place(): Promise<() => void> {
  if (places === 0) await new Promise<void>((resolve) => queue.push(resolve));
  else places--;
  let isHeld = true;
  return () => {
    if (!isHeld) return;
    isHeld = false;
    const next = queue.shift();
    if (next) next();
    else places++;
  };
}

async function outcomeOf({ answers, tries, args = [], settings, url }: Case, command: string[]): Promise<Outcome> {
  const leave = await place();
  if (tries === 0) setTimeout(leave, 3_000);
  const server = await HostileServer.start(answers, leave);
  const address = url ?? ((port: number) => `http://127.0.0.1:${port}`);
  const right = { BASE_URL: address(server.port), APPID: "a", SECRET, AGENT_ID: "10411,10427" };
  const start = performance.now();
  const result = await runExample([...command, ...args], { ...right, ...settings }).finally(leave);
  await server.close();
  return { ...result, tries: server.tries, took: performance.now() - start };
}

describe("the programs that open a session", () => {
  it("the tested programs that open a session are all that the folder has and the pages show", () => {
    const files = CALLERS.map(({ file }) => file).sort();
    expect(readdirSync(EXAMPLES).filter((file) => /^create/i.test(file))).toEqual(files);
    const codes = files.map((file) => codeOf(readFileSync(join(EXAMPLES, file), "utf8")));
    const pages = readdirSync(DOCS, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".md"));
    const shownCodes = pages.flatMap((path) =>
      [...readFileSync(join(DOCS, path), "utf8").matchAll(/^```(?:sh|js|python|php|go|java)\n(.*?)^```$/gms)]
        .map(([, code = ""]) => code)
        // The commands of a drill are no program, and neither is what signs for a generated client in Go.
        .filter((code) => /x-chat-signature/i.test(code) && !/x-drill|RoundTrip/.test(code)),
    );
    // Two pages show them in English, and the same two in Chinese.
    expect(shownCodes).toHaveLength(4);
    expect(shownCodes.filter((code) => !codes.includes(code))).toEqual([]);
  });
});

const PROGRAMS = runnablePrograms(CALLERS);

/** The outcome of each program in each case, by the program's file. */
const outcomes = new Map<string, Map<Case, Promise<Outcome>>>();

beforeAll(async () => {
  deaf = await deafPort();
  const commands = PROGRAMS.map((program) => ({ file: program.file, command: commandOf(program, folder) }));
  for (const { file } of commands) outcomes.set(file, new Map());
  // All programs run at once, case by case. The table begins with the cases that wait longest.
  for (const each of Object.values(CASES).flat()) {
    for (const { file, command } of commands) outcomes.get(file)?.set(each, outcomeOf(each, command));
  }
});

afterAll(async () => {
  await Promise.all([...outcomes.values()].flatMap((each) => [...each.values()]));
  deaf?.close();
  rmSync(folder, { recursive: true });
});

describe.each(PROGRAMS)("$file", ({ file }) => {
  describe.each(Object.entries(CASES))("rule: %s", (_, cases) => {
    it.each(cases)("a program that opens a session keeps its rules in the case of: $title", async (each) => {
      const { status, stdout, stderr, tries, took } = (await outcomes.get(file)?.get(each)) ?? expect.unreachable();
      if (each.says === undefined) expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: "7\n", stderr: "" });
      else {
        expect({ status, stdout, stderr }).toEqual({ status: 1, stdout: "", stderr: expect.stringMatching(each.says) });
        expect(stderr).toMatch(/^[^\p{Cc}]+\n$/u);
        if (each.settings === undefined) expect(stderr).toContain("Idempotency-Key ");
      }
      expect(stdout + stderr).not.toContain(SECRET);
      expect(tries).toHaveLength(each.tries);
      // Three tries of 10 s and two pauses are shorter than this. Three tries of 30 s are not.
      expect(took).toBeLessThan(90_000);
      const keys = new Set(tries.map(({ headers }) => headers["idempotency-key"]));
      expect(keys.size).toBe(Math.min(1, tries.length));
      for (const key of keys) expect(key).toMatch(each.args ? /^order-20418$/ : /^[!-~]{32,255}$/);
      const bodies = tries.map(
        ({ body }) => JSON.parse(body.toString("utf8")) as { timestamp: number; ranstr: string },
      );
      expect(new Set(bodies.map(({ ranstr }) => ranstr)).size).toBe(tries.length);
      for (const [i, { at, answeredAt, closedAt = Number.POSITIVE_INFINITY, headers, body }] of tries.entries()) {
        expect(headers["x-chat-signature"]).toBe(hmacOf(SECRET, body));
        // Java's client would ask for HTTP/2, and send the same bytes again when the server does not accept it.
        expect(headers).not.toHaveProperty("upgrade");
        const off = (bodies[i]?.timestamp ?? 0) - at / 1000 - (each.ahead?.[i] ?? 0);
        expect(Math.abs(off)).toBeLessThan(60);
        const next = tries[i + 1];
        // A program hangs up at the end of a try, so at least 1 s before the next one.
        if (next && CASES.whole.includes(each)) expect(closedAt).toBeLessThan(next.at + 500);
        if (next) expect(next.at - answeredAt).toBeGreaterThanOrEqual((each.pauses?.[i] ?? 1) * 1000);
      }
    });
  });
});
