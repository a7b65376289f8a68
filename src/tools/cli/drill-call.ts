import { spawn } from "node:child_process";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { constants } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { detailOf } from "../../core/describe-violations.ts";
import { DRILL_BUSY, DRILLS, type Drill } from "../../core/signed/drill.ts";
import type { Io } from "./io.ts";
import { readOptions, UsageError } from "./known-options.ts";

const USAGE = `npm run call -- drill [options] [-- PROGRAM [ARGUMENT …]]

Runs a program under each drill: ${DRILLS.join(", ")}. Says of each whether the program behaves. The program gets an address of
this machine in BASE_URL. What it sends there goes on to the server with the header x-drill. PROGRAM must read BASE_URL, and make its calls
one after the other. Without PROGRAM it is src/client/examples/create-session.mjs, which behaves.

The calls are real: each drill that goes well opens a session.

  --url URL        where the server is; default http://localhost:8787      (or BASE_URL)
  --appid APPID    for the program, as APPID
  --secret SECRET  for the program, as SECRET
  --agent IDS      for the program, as AGENT_ID: ids of agents, separated by commas
  --help           this

  npm run call -- drill --appid my-shop --secret keep-this-on-your-server --agent 10411
  npm run call -- drill -- php open-session.php

Exit code: 0 it behaves in every drill, 1 it does not, 2 called wrongly.`;

const OPTIONS = {
  url: { type: "string" },
  appid: { type: "string" },
  secret: { type: "string" },
  agent: { type: "string" },
  help: { type: "boolean", short: "h" },
} as const;

/** How long a program may run. Three tries that each wait 12 s, and the time between them, are within it. */
const PROGRAM_LIMIT_MS = 120_000;

/** What a call that the drill `busy` refuses gets as `x-error-detail`. */
const BUSY_DETAIL = detailOf(DRILL_BUSY);

/** A program that gives up before has too few tries for the drill `busy`. */
const BUSY_TRIES = 3;

/** When the drill `busy` lets a call pass before that, the program runs again, this often at most. */
const MOST_RUNS = 12;

/** A call of the program, as it passed through. Times in milliseconds. */
interface Try {
  at: number;
  answeredAt: number;
  ranstr: unknown;
  /** Null when the server did not answer. */
  status: number | null;
  /** The envelope's code; undefined when the answer is no envelope. */
  code: number | undefined;
  isReplayed: boolean;
  /** Whether the program hung up before the server answered. */
  isHungUp: boolean;
  detail: string;
}

interface Run {
  tries: Try[];
  /** As shells count: 128 and the number of the signal that ended the program. Null when it ran too long. */
  exitCode: number | null;
}

/**
 * `npm run call -- drill`: runs a program under each drill, and says whether it behaves.
 *
 * @returns the exit code
 * @throws UsageError; Error when the program cannot be started
 */
export async function drillCall(args: string[], io: Io): Promise<number> {
  const { values, positionals } = readOptions("npm run call -- drill …", args, OPTIONS, {
    allowPositionals: true,
    env: io.env,
  });
  if (values.help === true) {
    io.out(USAGE);
    return 0;
  }
  if (positionals[0]?.startsWith("{") || positionals[0]?.startsWith("@"))
    throw new UsageError("drill takes no body: it runs a program, which makes its own call.");
  const url = (values.url ?? (io.env.BASE_URL || "http://localhost:8787")).replace(/\/+$/, "");
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url))
    throw new UsageError(`--url "${url}" is not an address: it begins with http:// or https://.`);
  const command =
    positionals.length > 0 ? positionals : ["node", join(io.root, "src/client/examples/create-session.mjs")];
  const { appid: APPID, secret: SECRET, agent: AGENT_ID } = values;
  const env = { ...io.env, ...(APPID && { APPID }), ...(SECRET && { SECRET }), ...(AGENT_ID && { AGENT_ID }) };
  let isGood = true;
  for (const drill of DRILLS) {
    const run = await runUntilDrilled(drill, url, command, env, io);
    const faults = faultsOf(drill, run);
    const calls =
      run.tries.map(({ status, isHungUp }) => (isHungUp ? "hung up" : (status ?? "no answer"))).join(", ") || "none";
    io.out(`${drill.padEnd(12)} ${faults.length === 0 ? "good" : "BAD "}  answers: ${calls}`);
    for (const fault of faults) io.out(`${" ".repeat(13)}${fault}`);
    isGood &&= faults.length === 0;
  }
  return isGood ? 0 : 1;
}

async function runUntilDrilled(...[drill, ...rest]: Parameters<typeof runOnce>): Promise<Run> {
  for (let runs = 1; ; runs++) {
    const run = await runOnce(drill, ...rest);
    if (!callsOf(run).every((tries) => isPassedByLuck(drill, tries)) || run.exitCode === null || runs === MOST_RUNS)
      return run;
  }
}

const isAnswered = ({ code, isHungUp }: Try) => code === 1 && !isHungUp;

/** The tries of each call that a program made: a call ends with its answer. */
function callsOf({ tries }: Run): [Try, ...Try[]][] {
  const calls: [Try, ...Try[]][] = [];
  for (const [i, each] of tries.entries()) {
    const before = tries[i - 1];
    if (before === undefined || isAnswered(before)) calls.push([each]);
    else calls.at(-1)?.push(each);
  }
  return calls;
}

const isPassedByLuck = (drill: Drill, tries: Try[]): boolean =>
  drill === "busy" && tries.length < BUSY_TRIES && tries.some(isAnswered);

/** Runs the program once, for `limitMs` milliseconds at most. Each of its calls goes on to the server with the drill. */
export async function runOnce(
  drill: Drill,
  url: string,
  [program = "", ...args]: string[],
  env: Io["env"],
  io: { err(text: string): unknown },
  limitMs = PROGRAM_LIMIT_MS,
): Promise<Run> {
  const passing: Promise<Try>[] = [];
  const relay = createServer((request, response) => void passing.push(passOn(request, response, url, drill)));
  await new Promise<void>((resolve) => relay.listen(0, "127.0.0.1", resolve));
  try {
    const BASE_URL = `http://127.0.0.1:${(relay.address() as AddressInfo).port}`;
    const exitCode = await new Promise<number | null>((resolve, reject) => {
      const child = spawn(program, args, {
        // The generated types would require the Worker's settings in each process.
        env: { ...env, BASE_URL } as unknown as NodeJS.ProcessEnv,
        // npm runs its scripts in the folder of package.json.
        ...(env.INIT_CWD && { cwd: env.INIT_CWD }),
        stdio: ["ignore", "pipe", "pipe"],
      });
      const streams = [child.stdout, child.stderr];
      for (const stream of streams) createInterface({ input: stream }).on("line", (line) => io.err(`| ${line}`));
      let isOverdue = false;
      const timer = setTimeout(() => {
        isOverdue = true;
        child.kill("SIGKILL");
        // A process that the program started may hold them open.
        for (const stream of streams) stream.destroy();
      }, limitMs);
      child.on("error", (error) => reject(new Error(`${program} does not start: ${error.message}`)));
      child.on("close", (code, signal) => {
        clearTimeout(timer);
        resolve(isOverdue ? null : (code ?? 128 + constants.signals[signal ?? "SIGKILL"]));
      });
    });
    // A program may have hung up while the server still worked on its call.
    return { exitCode, tries: await Promise.all(passing) };
  } finally {
    relay.closeAllConnections();
    relay.close();
  }
}

/** Headers that are about one connection, or about the form in which a body is sent on it. */
const OF_CONNECTION = /^(host|connection|keep-alive|content-length|content-encoding|transfer-encoding|expect)$/;

async function passOn(request: IncomingMessage, response: ServerResponse, url: string, drill: Drill): Promise<Try> {
  const passed: Try = {
    at: Date.now(),
    answeredAt: 0,
    ranstr: undefined,
    status: null,
    code: undefined,
    isReplayed: false,
    isHungUp: false,
    detail: "",
  };
  try {
    const body = Buffer.concat(await request.toArray());
    passed.ranstr = fieldsOf(body.toString()).ranstr;
    const headers = new Headers();
    for (const [name, value] of Object.entries(request.headers))
      if (!OF_CONNECTION.test(name)) headers.set(name, String(value));
    headers.set("x-drill", drill);
    const { method = "POST" } = request;
    const answer = await fetch(`${url}${request.url}`, {
      method,
      headers,
      body: /^(GET|HEAD)$/.test(method) ? null : body,
      redirect: "manual",
    });
    const text = await answer.text();
    passed.isHungUp = response.destroyed;
    const kept = [...answer.headers].filter(([name]) => !OF_CONNECTION.test(name));
    response.writeHead(answer.status, kept.flat()).end(text);
    const { code } = fieldsOf(text);
    passed.status = answer.status;
    passed.code = typeof code === "number" ? code : undefined;
    passed.isReplayed = answer.headers.has("idempotency-replayed");
    passed.detail = answer.headers.get("x-error-detail") ?? text.slice(0, 200);
  } catch (error) {
    passed.isHungUp = response.destroyed;
    response.destroy();
    const { message, cause } = error as Error & { cause?: Error };
    passed.detail = cause?.message || message;
  }
  passed.answeredAt = Date.now();
  return passed;
}

function fieldsOf(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}

/** What a program does wrong under a drill, in sentences. */
export function faultsOf(drill: Drill, run: Run): string[] {
  const { tries, exitCode } = run;
  const calls = callsOf(run);
  const last = tries.at(-1);
  const isGood = last !== undefined && isAnswered(last);
  const ranstrs = tries.map(({ ranstr }) => ranstr).filter((ranstr) => ranstr !== undefined);
  const faults = [
    last === undefined && "It made no call to BASE_URL.",
    ...calls.flatMap((call) => faultsOfCall(drill, call)),
    new Set(ranstrs).size < ranstrs.length &&
      "It sent a ranstr twice: take a new ranstr and timestamp for each try, and sign anew.",
    last !== undefined &&
      calls.every((call) => isPassedByLuck(drill, call)) &&
      "Too few of its calls were refused, by luck: run it again.",
    exitCode === null && `It did not end in ${PROGRAM_LIMIT_MS / 1000} s.`,
    isGood && exitCode !== 0 && exitCode !== null && `It got its answer, and ended with the exit code ${exitCode}.`,
    last !== undefined &&
      !isGood &&
      exitCode === 0 &&
      "It ended with the exit code 0, as if its call had been answered.",
  ].filter((fault) => fault !== false);
  return [...new Set(faults)];
}

function faultsOfCall(drill: Drill, tries: [Try, ...Try[]]) {
  const [first] = tries;
  const last = tries.at(-1) ?? first;
  const done = tries.filter(
    ({ status, code, isReplayed }) => (code === 1 && !isReplayed) || (drill === "lost-answer" && status === 502),
  );
  // The status of a busy answer is 200 where failures answer 200, and a 503 may be another refusal.
  const wasBusy = ({ detail }: Try) => detail === BUSY_DETAIL;
  const isRefused = (each: Try) => each.code === -1 && !wasBusy(each);
  const isHasty = tries.some((each, i) => {
    const before = tries[i - 1];
    return before !== undefined && wasBusy(before) && each.at - before.answeredAt < 900;
  });
  // By luck, a program meets a busy service each time.
  const mayGiveUp = drill === "busy" && tries.length >= BUSY_TRIES;
  const gaveUp = !isAnswered(last) && !isRefused(last) && !mayGiveUp;
  return [
    done.length > 1 &&
      `It opened ${done.length} sessions instead of one: send every try of a call with one Idempotency-Key.`,
    isHasty && "It did not wait for Retry-After, 1 s, before it tried again.",
    isRefused(last) &&
      `${isRefused(first) ? "It was refused, so this drill shows nothing" : "A later try was refused"}: ${last.detail}`,
    last.status === null && !last.isHungUp && `The server did not answer: ${last.detail}`,
    gaveUp && (tries.length === 1 ? "It did not try again." : `It gave up after ${tries.length} tries.`),
    !isAnswered(last) && done.length > 0 && "It never learned the answer to a call that was done.",
  ];
}
