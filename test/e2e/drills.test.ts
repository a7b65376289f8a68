import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DRILLS } from "../../src/core/signed/drill.ts";
import { main } from "../../src/tools/cli/call.ts";
import { CALLERS } from "../../src/tools/docs/programs.ts";
import { type BuiltWorker, startBuiltWorker } from "../support/built-worker.ts";
import { commandOf, EXAMPLES, runnablePrograms } from "../support/run-example.ts";
import { runMain } from "../support/run-main.ts";

let worker: BuiltWorker;
beforeAll(async () => {
  worker = await startBuiltWorker();
});
afterAll(() => worker?.close());

const folder = mkdtempSync(join(tmpdir(), "drills-"));
afterAll(() => rmSync(folder, { recursive: true }));

const { PATH, HOME } = process.env;

/** Runs `npm run call -- drill` for a program, with an app of its own. */
async function drill(command: string[], url = worker.url) {
  const app = await worker.provision([10411]);
  const env = { PATH, HOME, BASE_URL: url, APPID: app.appid, SECRET: app.secret, INIT_CWD: EXAMPLES };
  const result = await runMain(main, ["drill", "--agent", "10411", "--", ...command], { env });
  const { items } = await worker.admin<{ items: unknown[] }>("GET", `/admin/sites/${app.siteId}/sessions?limit=100`);
  const verdicts = [...result.stdout.matchAll(/^(\S+) +(good|BAD) /gm)].map(([, name, verdict]) => [name, verdict]);
  return { ...result, verdicts: Object.fromEntries(verdicts), sessions: items.length };
}

const programs = runnablePrograms(CALLERS);

/** The verdicts on programs that run side by side, by their files: most of a drill is waiting. */
const drillEach = async (commands: [file: string, command: string[]][]) =>
  Object.fromEntries(await Promise.all(commands.map(async ([file, command]) => [file, await drill(command)] as const)));

/** The examples in three languages, each with one change of its text. */
const faultyExamples = (fault: string, changes: Record<string, [text: string, by: string]>) =>
  programs.flatMap(({ file, run }): [string, string[]][] => {
    const change = changes[file];
    if (change === undefined) return [];
    const source = readFileSync(join(EXAMPLES, file), "utf8");
    expect(source).toContain(change[0]);
    const path = join(folder, `${fault}-${file}`);
    writeFileSync(path, source.replace(...change));
    return [[file, [...run.split(" ").slice(0, -1), path]]];
  });

describe.concurrent("npm run call -- drill", () => {
  it("each example program behaves in each drill", { timeout: 180_000 }, async () => {
    const results = await drillEach(programs.map((program) => [program.file, commandOf(program, folder)]));
    expect(Object.keys(results)).toEqual(programs.map(({ file }) => file));
    for (const { exitCode, verdicts, stdout } of Object.values(results)) {
      expect(verdicts, stdout).toEqual(Object.fromEntries(DRILLS.map((name) => [name, "good"])));
      expect(exitCode).toBe(0);
    }
  });

  it("programs in three languages without an Idempotency-Key are found to open several sessions", {
    timeout: 180_000,
  }, async () => {
    const results = await drillEach(
      faultyExamples("keyless", {
        "create-session.mjs": ['"idempotency-key": key, ', ""],
        "create-session.py": ['        "Idempotency-Key": key,\n', ""],
        "create-session.php": ['        "Idempotency-Key: $key",\n', ""],
      }),
    );
    for (const { exitCode, verdicts, stdout, sessions } of Object.values(results)) {
      expect(verdicts).toMatchObject({ "lost-answer": "BAD", slow: "BAD" });
      expect(stdout).toContain(
        "It opened 3 sessions instead of one: send every try of a call with one Idempotency-Key.",
      );
      expect(exitCode).toBe(1);
      expect(sessions).toBeGreaterThanOrEqual(6);
    }
  });

  it("programs in three languages without a second try are found in each drill", { timeout: 180_000 }, async () => {
    const results = await drillEach(
      faultyExamples("hasty", {
        "create-session.mjs": ["if (tries === 3)", "if (tries === 1)"],
        "create-session.py": ["if tries == 3:", "if tries == 1:"],
        "create-session.php": ["if ($tries === 3)", "if ($tries === 1)"],
      }),
    );
    for (const { exitCode, verdicts, stdout } of Object.values(results)) {
      expect(verdicts).toEqual({ "lost-answer": "BAD", busy: "BAD", slow: "BAD" });
      expect(stdout.match(/It did not try again\./g)).toHaveLength(3);
      expect(stdout.match(/It never learned the answer to a call that was done\./g)).toHaveLength(2);
      expect(exitCode).toBe(1);
    }
  });

  it("npm run call -- drill says that the service has drills switched off", { timeout: 180_000 }, async () => {
    const off = await startBuiltWorker({ vars: { DRILLS: "off" } });
    try {
      const { appid, secret } = await off.provision([10411]);
      const env = { PATH, HOME, BASE_URL: off.url, APPID: appid, SECRET: secret };
      const { exitCode, stdout } = await runMain(main, ["drill", "--agent", "10411"], { env });
      expect(stdout.match(/this service has drills switched off/g)).toHaveLength(3);
      expect(exitCode).toBe(1);
    } finally {
      await off.close();
    }
  });
});
