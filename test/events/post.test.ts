import type { ServerResponse } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Runtime, systemRuntime } from "../../src/core/runtime.ts";
import { type Answer, post } from "../../src/events/post.ts";
import { eventually } from "../support/eventually.ts";
import { Receiver } from "../support/receiver.ts";

let receiver: Receiver;
let paths = 0;

beforeAll(async () => {
  receiver = await Receiver.start();
});
afterAll(() => receiver.close());

/** Posts to a receiver with this behaviour. `ms` is the duration of the whole post; `limits` lists the time limits that ended. */
async function tryPost(
  answer: (response: ServerResponse) => void,
  runtime = systemRuntime,
): Promise<{ answer: Answer; ms: number; path: string; limits: number[] }> {
  const path = `/${paths++}`;
  const limits: number[] = [];
  const after: Runtime["after"] = (milliseconds, callback) =>
    runtime.after(milliseconds, () => {
      limits.push(milliseconds);
      callback();
    });
  receiver.answer = answer;
  const began = performance.now();
  const result = await post({ ...runtime, after }, `${receiver.url}${path}`, {}, "{}");
  return { answer: result, ms: performance.now() - began, path, limits };
}

/** A runtime whose time runs ten times faster than the machine's time. */
const HASTY: Runtime = {
  ...systemRuntime,
  elapsed: () => systemRuntime.elapsed() * 10,
  after: (ms, callback) => systemRuntime.after(ms / 10, callback),
};

/** A runtime in which no time limit ends, however slow the machine is. */
const UNHURRIED: Runtime = { ...systemRuntime, after: () => () => {} };

/** Writes one chunk after another, with a pause between them. Without a count the chunks never end. */
function write(response: ServerResponse, { bytes, every, count }: { bytes: number; every: number; count?: number }) {
  let triesLeft = count ?? Number.POSITIVE_INFINITY;
  const timer = setInterval(() => {
    if (triesLeft-- > 0) response.write("x".repeat(bytes));
    else response.end();
  }, every);
  response.on("close", () => clearInterval(timer));
}

const SUCCESS = { status: 200, error: null, cause: null, durationMs: expect.any(Number) };

describe("the answer to a post that succeeds", () => {
  it("a success's answer is read to its end, so a slow answer of 3 KB sees no broken connection", async () => {
    const { answer, ms, path } = await tryPost((response) => {
      response.writeHead(200).flushHeaders();
      write(response, { bytes: 300, every: 5, count: 10 });
    }, UNHURRIED);
    expect(answer).toEqual(SUCCESS);
    expect(ms - Number(answer.durationMs)).toBeGreaterThan(20);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(receiver.cut[path]).toBeUndefined();
  });

  it.each([
    ["says nothing more", () => {}],
    ["never ends", (response: ServerResponse) => write(response, { bytes: 1, every: 10 })],
  ])("a success's answer is cut off after a second when it %s", async (_, goOn) => {
    const { answer, ms, path, limits } = await tryPost((response) => {
      response.writeHead(200).flushHeaders();
      goOn(response);
    }, HASTY);
    expect(answer).toEqual(SUCCESS);
    expect(ms).toBeGreaterThan(95);
    expect(limits).toHaveLength(1);
    expect(limits[0]).toBeLessThanOrEqual(1_000);
    await eventually(() => expect(receiver.cut[path]).toBe(1));
  });

  it("a success's answer is cut off at once after 4 KB", async () => {
    let bytes = 0;
    const { answer, path } = await tryPost((response) => {
      const more = () => {
        while (!response.destroyed && response.write("x".repeat(1_024))) bytes += 1_024;
      };
      response.writeHead(200).on("drain", more);
      more();
    }, UNHURRIED);
    expect(answer).toEqual(SUCCESS);
    await eventually(() => expect(receiver.cut[path]).toBe(1));
    // Only what fits into the sockets' buffers was written, not an endless body.
    expect(bytes).toBeLessThan(20 * 1024 ** 2);
  });

  it.each<[string, (response: ServerResponse) => void]>([
    [
      "breaks off",
      (response) => {
        response.writeHead(200, { "content-length": "100" }).write("half");
        setTimeout(() => response.socket?.destroy(), 50);
      },
    ],
    ["is no text", (response) => void response.writeHead(200).end(Buffer.from([0xff, 0xfe, 0x00, 0xc3]))],
    ["says that it failed", (response) => void response.writeHead(200).end("error code: 1016")],
    ["is empty", (response) => void response.writeHead(200).end()],
  ])("a success stays a success when its answer %s", async (_, answer) => {
    expect((await tryPost(answer)).answer).toEqual(SUCCESS);
  });

  it("the answer of a success is not awaited beyond the time limit of the post", async () => {
    // When the headers come, half a second of the post's 15 s is left.
    let late = 0;
    const runtime = { ...HASTY, elapsed: () => HASTY.elapsed() + late };
    const { answer, limits } = await tryPost((response) => {
      late = 14_500;
      response.writeHead(200).flushHeaders();
    }, runtime);
    expect(answer).toEqual(SUCCESS);
    expect(answer.durationMs).toBeGreaterThanOrEqual(14_500);
    expect(Math.max(...limits)).toBeLessThanOrEqual(500);
  });
});

describe("the answer to a post that fails", () => {
  it("a failed post is described in words of the service when the platform could not reach the host", async () => {
    const answerTo = async (status: number, body: string) =>
      (await tryPost((response) => response.writeHead(status).end(body))).answer;
    expect(await answerTo(530, "error code: 1016")).toMatchObject({
      status: 530,
      error: "HTTP 530, error 1016: the host name does not resolve",
    });
    expect(await answerTo(522, "error code: 522\n")).toMatchObject({
      status: 522,
      error: "HTTP 522: the connection timed out",
    });
    const { error } = await answerTo(521, `<h1>down</h1>${"x".repeat(400)}`);
    expect(error).toBe(`HTTP 521: the host refuses connections: ${`<h1>down</h1>${"x".repeat(400)}`.slice(0, 200)}`);
  });

  it("the duration of a failed post ends with the headers of its answer, not with the body", async () => {
    const { answer, ms } = await tryPost((response) => {
      setTimeout(() => {
        response.writeHead(500).flushHeaders();
        setTimeout(() => response.end("oops"), 100);
      }, 50);
    });
    expect(answer).toMatchObject({ status: 500, error: "HTTP 500: oops", cause: "status" });
    expect(answer.durationMs).toBeGreaterThanOrEqual(49);
    expect(Number.isInteger(answer.durationMs)).toBe(true);
    expect(ms - Number(answer.durationMs)).toBeGreaterThan(95);
  });

  it("the duration of a post without an answer ends when the connection breaks or the time limit is over", async () => {
    const broken = await tryPost((response) => void setTimeout(() => response.socket?.destroy(), 30));
    const unanswered = { status: null, durationMs: expect.any(Number) };
    expect(broken.answer).toEqual({ ...unanswered, error: "no connection", cause: "no_connection" });
    expect(broken.answer.durationMs).toBeGreaterThanOrEqual(29);
    expect(broken.answer.durationMs).toBeLessThanOrEqual(Math.ceil(broken.ms));

    const hasty = { ...systemRuntime, after: (ms: number, call: () => void) => systemRuntime.after(ms / 500, call) };
    receiver.answer = () => {};
    const silent = await post(hasty, `${receiver.url}/silent`, {}, "{}");
    expect(silent).toEqual({ ...unanswered, error: "no answer in 15 s", cause: "no_answer" });
    expect(silent.durationMs).toBeGreaterThanOrEqual(29);
  });
});

describe("what a receiver says of a post that it refuses", () => {
  it.each([
    ["/in/a-token", "Cannot POST /in/a-token", "Cannot POST …"],
    ["/in/a-token?t=1&u=2", "Cannot POST /in/a-token?t=1&amp;u=2 nor /in/a-token", "Cannot POST … nor …"],
    ["/in/%61-token", "/in/a-token is unknown", "… is unknown"],
    ["/", "Cannot POST /", "Cannot POST /"],
  ])("a receiver's text is stored without the path and query of its URL: %s", async (path, says, storedText) => {
    receiver.answer = (response) => response.writeHead(404).end(says);
    const answer = await post(systemRuntime, `${receiver.url}${path}`, {}, "{}");
    expect(answer).toMatchObject({ status: 404, error: `HTTP 404: ${storedText}` });
  });
});
