import { spawn } from "node:child_process";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { DRILLS, type Drill } from "../../core/signed/drill.ts";
import type { Io } from "./io.ts";
import { readOptions, UsageError } from "./known-options.ts";

const USAGE = `npm run call -- drill [options] [-- PROGRAM [ARGUMENT …]]

Runs a program that makes one call, once for each drill: ${DRILLS.join(", ")}. Says of each whether the program behaves. The program gets an
address of this machine in BASE_URL. What it sends there goes on to the server with the header x-drill. PROGRAM must read BASE_URL.
Without PROGRAM it is src/client/examples/create-session.mjs, which behaves.

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

/** One call in four passes the drill `busy` at once, and shows nothing: then the program runs again. */
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
  /** Null when the program was killed. */
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
  const url = (values.url ?? io.env.BASE_URL ?? "http://localhost:8787").replace(/\/+$/, "");
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) throw new UsageError(`--url "${url}" is not an address.`);
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

async function runUntilDrilled(...[drill, url, command, env, io]: Parameters<typeof runOnce>): Promise<Run> {
  for (let runs = 1; ; runs++) {
    const run = await runOnce(drill, url, command, env, io);
    const [first, second] = run.tries;
    const isUntouched = drill === "busy" && second === undefined && first?.code === 1;
    if (!isUntouched || runs === MOST_RUNS) return run;
  }
}

/** Runs the program once. Each of its calls goes on to the server with the drill. */
async function runOnce(
  drill: Drill,
  url: string,
  [program = "", ...args]: string[],
  env: Io["env"],
  io: Io,
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
        timeout: PROGRAM_LIMIT_MS,
        killSignal: "SIGKILL",
      });
      for (const stream of [child.stdout, child.stderr])
        stream.on("data", (text) => io.err(`| ${String(text).trimEnd().replaceAll("\n", "\n| ")}`));
      child.on("error", (error) => reject(new Error(`${program} does not start: ${error.message}`)));
      child.on("close", resolve);
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
  const at = Date.now();
  const body = Buffer.concat(await request.toArray());
  const sent = { at, ranstr: fieldsOf(body.toString()).ranstr };
  const headers = new Headers({ "x-drill": drill });
  for (const [name, value] of Object.entries(request.headers))
    if (!OF_CONNECTION.test(name)) headers.set(name, String(value));
  try {
    const { method = "POST" } = request;
    const answer = await fetch(`${url}${request.url}`, {
      method,
      headers,
      body: method === "GET" ? null : body,
      redirect: "manual",
    });
    const text = await answer.text();
    const isHungUp = response.destroyed;
    const kept = [...answer.headers].filter(([name]) => !OF_CONNECTION.test(name));
    response.writeHead(answer.status, kept.flat()).end(text);
    const { code } = fieldsOf(text);
    return {
      ...sent,
      answeredAt: Date.now(),
      status: answer.status,
      code: typeof code === "number" ? code : undefined,
      isReplayed: answer.headers.has("idempotency-replayed"),
      isHungUp,
      detail: answer.headers.get("x-error-detail") ?? text.slice(0, 200),
    };
  } catch (error) {
    response.destroy();
    const { message, cause } = error as Error & { cause?: Error };
    const detail = cause?.message || message;
    return {
      ...sent,
      answeredAt: Date.now(),
      status: null,
      code: undefined,
      isReplayed: false,
      isHungUp: false,
      detail,
    };
  }
}

function fieldsOf(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}

/** What a program does wrong under a drill, in sentences. */
export function faultsOf(drill: Drill, { tries, exitCode }: Run): string[] {
  const last = tries.at(-1);
  if (last === undefined) return ["It made no call to BASE_URL."];
  const isAnswered = last.code === 1 && !last.isHungUp;
  const done = tries.filter(
    ({ status, code, isReplayed }) => (code === 1 && !isReplayed) || (drill === "lost-answer" && status === 502),
  );
  const isUsedAgain = tries.some(({ ranstr }, i) => tries.findIndex((each) => each.ranstr === ranstr) < i);
  const pauses = tries.slice(1).map(({ at }, i) => at - (tries[i]?.answeredAt ?? 0));
  // The status of a busy answer is 200 where failures answer 200, and a 503 may be another refusal.
  const hasRefusal = last.code === -1 && !last.detail.startsWith("x-drill: busy ");
  // By luck, a program that tries three times meets a busy service each time.
  const mayGiveUp = drill === "busy" && tries.length >= 3;
  return [
    done.length > 1 &&
      `It opened ${done.length} sessions instead of one: send every try of a call with one Idempotency-Key.`,
    isUsedAgain && "It sent a ranstr twice: take a new ranstr and timestamp for each try, and sign anew.",
    drill === "busy" && Math.min(...pauses) < 900 && "It did not wait for Retry-After, 1 s, before it tried again.",
    hasRefusal && `It was refused, so this drill shows nothing: ${last.detail}`,
    last.status === null && `The server did not answer: ${last.detail}`,
    drill === "busy" && isAnswered && tries.length === 1 && "Each of its calls passed by luck: run it again.",
    !isAnswered && !hasRefusal && !mayGiveUp && tries.length === 1 && "It did not try again.",
    !isAnswered && !hasRefusal && !mayGiveUp && tries.length > 1 && `It gave up after ${tries.length} tries.`,
    !isAnswered && done.length > 0 && "It never learned the chat_id of the session that it opened.",
    exitCode === null && `It did not end in ${PROGRAM_LIMIT_MS / 1000} s.`,
    isAnswered && exitCode !== 0 && exitCode !== null && `It got its answer, and ended with the exit code ${exitCode}.`,
    !isAnswered && exitCode === 0 && "It ended with the exit code 0, as if its call had been answered.",
  ].filter((fault) => fault !== false);
}
