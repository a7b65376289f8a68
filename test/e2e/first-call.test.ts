import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { prepare } from "../../src/client/sign.ts";
import { type BuiltWorker, startBuiltWorker } from "../support/built-worker.ts";
import { run } from "../support/run-cli.ts";

const ROOT = join(import.meta.dirname, "../..");
const LOCAL = "http://localhost:8787";

let worker: BuiltWorker;
let folder: string;

beforeAll(async () => {
  worker = await startBuiltWorker();
  folder = mkdtempSync(join(tmpdir(), "first-call-test-"));
  writeFileSync(join(folder, ".dev.vars"), `MASTER_KEY=unused\nADMIN_TOKEN=${worker.adminToken}\n`);
});
afterAll(async () => {
  await worker.close();
  rmSync(folder, { recursive: true });
});

const pageOf = (path: string) => readFileSync(join(ROOT, path), "utf8");

/** The blocks of code of a page that are in one language, in order. */
const blocksOf = (path: string, language: string) =>
  [...pageOf(path).matchAll(/^ *```(\w+)\n(.*?)^ *```/gms)].flatMap(([, of, block = ""]) =>
    of === language ? [block] : [],
  );

/** The only block of the README that sets BASE_URL. */
function readme(): string {
  const [block, ...more] = blocksOf("README.md", "sh").filter((block) => /^export BASE_URL=/.test(block));
  if (block === undefined || more.length > 0) throw new Error("there is not one block that sets BASE_URL");
  return block;
}

/** The page on integrating in each language. */
const INTEGRATING = ["docs/integrating.md", "docs/zh/integrating.md"];

/**
 * The commands of a page on integrating, without installations and runs of packages, without the program that is shown as a file, and without the
 * command that drills the reader's own program.
 */
const commandsOf = (path: string) =>
  blocksOf(path, "sh")
    .filter((block) => !/^npm i(?:nstall)? |^npx |^go |^set -eu$|call -- drill/m.test(block))
    .join("\n");

/** Fills in the reader's own values, as the site does it. */
const fillIn = (commands: string) =>
  commands
    .replaceAll("https://sessions.example.com", worker.url)
    .replaceAll("YOUR_APPID", "my-shop")
    .replaceAll("YOUR_SECRET", "keep-this-on-your-server");

/** Runs commands in a folder with the Worker's .dev.vars. They call the Worker's address instead of localhost:8787. */
function shell(script: string, base = worker.url, cwd = folder, env: Record<string, string> = {}) {
  const prelude = `cd '${cwd}'; npm() { command npm --prefix '${ROOT}' "$@"; }; curl() { command curl -sS "$@"; }`;
  return run("sh", [], { input: `${prelude}\n${script.replaceAll(LOCAL, base)}`, env });
}

describe("the first call", () => {
  it.each(INTEGRATING)("the commands of %s that run here install no package into this checkout", (path) => {
    expect(commandsOf(path)).toContain("npm run --silent call");
    expect(commandsOf(path)).not.toMatch(/^npm i(?:nstall)? /m);
  });

  it("the first call of the README works, its last refusal says why, and the later calls of docs/ work too", async () => {
    const { stdout, stderr } = await shell(readme());
    expect(stderr).toBe("");
    expect(stdout).toMatch(
      /^\{"id":1,"name":"Shop","home":"main","status":"open"\}\n\{"id":10411,"name":"Li Na","status":"normal"\}\n\{"appid":"my-shop",.*\}\n/,
    );
    expect(stdout).toContain('{"code":1,"msg":"ok","data":{"chat_id":1}}');
    expect(stdout).toMatch(/^x-error-detail +kefu_ids: /m);

    const [lines = ""] = blocksOf("README.md", "sh");
    const [, variables = ""] = pageOf("README.md").match(/`(export APPID=[^`]+)`/) ?? [];
    const top = await shell(`${variables}\n${lines}`, worker.url, folder, { BASE_URL: worker.url });
    expect(top).toEqual({ exitCode: 0, stdout: '{"code":1,"msg":"ok","data":{"chat_id":2}}', stderr: "" });

    const blocks = [...INTEGRATING.map((path) => fillIn(commandsOf(path))), ...blocksOf("docs/retrying.md", "sh")];
    const answers = await shell(blocks.join("\n"));
    expect([answers.exitCode, answers.stderr]).toEqual([0, ""]);
    expect([...answers.stdout.matchAll(/^(?:\{"code":1,.*"chat_id":)?(\d+)(?:\}\})?$/gm)].map(([, id]) => id)).toEqual([
      "3",
      "4",
      "5",
      "6",
      "7",
      "7",
    ]);
    expect(answers.stdout).toContain("\ncurl -sS -i ");
    expect(answers.stdout).toMatch(/^idempotency-replayed +true$/m);

    for (const [i, path] of INTEGRATING.entries()) {
      const [program = ""] = blocksOf(path, "python").filter((code) => code.includes("Idempotency-Key"));
      writeFileSync(join(folder, "create-session.py"), program);
      const env = { BASE_URL: worker.url, APPID: "my-shop", SECRET: "keep-this-on-your-server", AGENT_ID: "10411" };
      const command = `python3 create-session.py order-${i}`;
      const answer = `${8 + i}\n`;
      expect(await shell(`${command}; ${command}`, worker.url, folder, env)).toEqual({
        exitCode: 0,
        stdout: answer + answer,
        stderr: "",
      });
    }
  });

  it("admin() of the README prints the error when it fails", async () => {
    const [address, token, admin] = readme()
      .trim()
      .split("\n")
      .map((line) => line.trim());
    const refused = await shell(`${address}\n${token}\n${admin}\nadmin sites '{"nam":"Shop"}'`);
    expect(refused.stdout).toContain('"errors":[{"field":"name","message":"is required"}');
    expect(refused.stderr).toContain("400");
    expect(refused.exitCode).toBe(22);
    const unheard = await shell(`${address}\n${token}\n${admin}\nadmin sites '{"name":"Shop"}'`, "http://localhost:1");
    expect(unheard.stderr).toMatch(/curl: .*localhost port 1/);
    expect(unheard.exitCode).toBe(7);
  });
});

describe("the five common mistakes of the page on integrating", () => {
  it("the five common mistakes of the page on integrating get the answers that the page names, in each language", async () => {
    const { appid, secret } = await worker.provision([10411]);
    const session = { sbs: "customer_001", ip: "203.0.113.7", sbs_mc: "Wang Wei", content: "Where is my order?" };
    const fields = { ...session, kefu_id: [10411], fzr_uid: 10411 };
    const send = async (body: string, signature: string, type = "application/json") => {
      const headers = { "content-type": type, "x-chat-signature": signature };
      const { status, headers: answerHeaders } = await fetch(`${worker.url}/openapi/chat/create_gd`, {
        method: "POST",
        headers,
        body,
      });
      return { status, detail: answerHeaders.get("x-error-detail") };
    };
    const right = await prepare({ appid, secret }, fields);
    const inMilliseconds = await prepare({ appid, secret }, { ...fields, timestamp: Date.now() });
    const idAsText = await prepare({ appid, secret }, { ...fields, kefu_id: ["10411"] });
    const form = await send(right.body, right.signature, "application/x-www-form-urlencoded");
    const secondAnswer = await send(JSON.stringify(JSON.parse(right.body), null, 1), right.signature);
    await send(right.body, right.signature);
    const answers = [
      secondAnswer,
      await send(inMilliseconds.body, inMilliseconds.signature),
      await send(right.body, right.signature),
      await send(idAsText.body, idAsText.signature),
      form,
    ];
    for (const path of INTEGRATING) {
      const [, part = ""] = pageOf(path).split(/\n### (?:Five common mistakes|五个常见错误)\n/);
      const mistakes = part.split("\n### ")[0]?.matchAll(/^\*\*(\d+)\b.*`([^`]+)`[.。]\*\*/gm) ?? [];
      const pairs = [...mistakes].map(([, status, detail = ""]) => [Number(status), detail.replace(/…$/, "")] as const);
      expect(pairs).toHaveLength(answers.length);
      for (const [i, [status, detail]] of pairs.entries()) {
        const answer = answers[i] ?? { status: 0, detail: "" };
        expect([path, answer.status]).toEqual([path, status]);
        // The first mistake gets no detail, and its heading says so.
        if (i === 0) expect([path, answer.detail, detail]).toEqual([path, null, "x-error-detail"]);
        else expect([path, answer.detail]).toEqual([path, expect.stringMatching(new RegExp(`^${detail}`))]);
      }
    }
  });
});
