import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { UsageError } from "../../../src/tools/cli/known-options.ts";
import { FAKE_RULES, FAKE_SEEDS } from "../../simulation/command/fake-run.ts";
import { readCommand } from "../../simulation/command/options.ts";
import type { Report } from "../../simulation/gates/gate.ts";
import { run } from "../../support/run-cli.ts";
import { runFakeSimulate as simulate, simulateArguments } from "../../support/run-simulate.ts";

const folder = mkdtempSync(join(tmpdir(), "simulate-test-"));
afterAll(() => rmSync(folder, { recursive: true }));

const withoutTime = (stdout: string) => stdout.replace(/^real seconds .*$/m, "");

describe("a run", () => {
  it("npm run simulate prints how much ran and what happened, the most frequent first, with any number of threads", async () => {
    const one = await simulate("--seeds", "6", "--steps", "500", "--threads", "1");
    expect(one.stderr).toBe("");
    expect(one.exitCode).toBe(0);
    expect(one.stdout).toMatch(/^6 seeds from 1 with 500 steps: no promise was broken\.$/m);
    expect(one.stdout).toMatch(/^steps +3,012$/m);
    expect(one.stdout).toMatch(/^virtual hours +0\.8$/m);
    expect(one.stdout).toMatch(/^real seconds +\d+\.\d \([\d,]+ steps\/s on 1 thread\)$/m);
    const [answers = 0, cuts = 0] = [/([\d,]+) {2}honest 200 .* ([\d,]+) {2}honest cut off .* isolate killed$/m]
      .flatMap((line) => one.stdout.match(line)?.slice(1) ?? [])
      .map((count) => Number(count.replace(",", "")));
    expect(answers).toBeGreaterThan(cuts);
    expect(one.stdout).toMatch(new RegExp(`^requests +${(answers + cuts).toLocaleString("en")}$`, "m"));

    const three = await simulate("--seeds", "6", "--steps", "500", "--threads", "3");
    expect(three.stdout).toContain("on 3 threads");
    expect(withoutTime(three.stdout)).toBe(withoutTime(one.stdout));
  });

  it("npm run simulate runs the seeds of a given text, for the given number of seconds", async () => {
    const { exitCode, stdout } = await simulate("--from", "a commit", "--seconds", "1", "--steps", "10");
    expect(stdout).toMatch(/^\d+ seeds derived from "a commit" with 10 steps: no promise was broken\.$/m);
    expect(stdout).toMatch(/^real seconds +[1-9]\d*\.\d /m);
    expect(exitCode).toBe(0);
  });

  it("npm run simulate writes what happened into the file of --report", async () => {
    const file = join(folder, "report.json");
    const { stdout, exitCode } = await simulate("--seeds", "6", "--steps", "500", "--report", file);
    expect(exitCode).toBe(0);
    const { seen: counts } = JSON.parse(readFileSync(file, "utf8")) as Report;
    expect(Object.keys(counts).toSorted()).toEqual(["honest 200", "honest cut off", "isolate killed"]);
    for (const [kind, count] of Object.entries(counts))
      expect(stdout).toContain(`${count.toLocaleString("en")}  ${kind}`);
  });

  it("a seed always gives the same trace, byte for byte, and another seed gives another trace", async () => {
    const [first, again, other] = await Promise.all(
      [3, 3, 4].map(async (seed, at) => {
        const file = join(folder, `${at}.trace`);
        expect((await simulate("--seed", `${seed}`, "--steps", "2500", "--trace", file)).exitCode).toBe(0);
        return readFileSync(file, "utf8");
      }),
    );
    expect(first?.split("\n")).toHaveLength(2501);
    expect(again).toBe(first);
    expect(other).not.toBe(first);
  });
});

describe("broken promises", () => {
  it("npm run simulate exits 1 for a broken promise, and prints what happened and the command that repeats it", async () => {
    const { exitCode, stdout } = await simulate("--seeds", "20", "--steps", "20000");
    expect(exitCode).toBe(1);
    expect(stdout).toContain("20 seeds from 1 with 20,000 steps: 2 seeds broke a promise.");
    expect(stdout).toContain(
      `\nSeed ${FAKE_SEEDS.late} broke a promise at step 700: ${FAKE_RULES.late}\n` +
        `Seed ${FAKE_SEEDS.early} broke a promise at step 50: ${FAKE_RULES.early}\n\nWhat happened in seed 7: it did not at 700\n`,
    );
    const [, lines = ""] = stdout.split("The lines of its trace that mention call-3:\n");
    expect(
      lines
        .split("\n\n")[0]
        ?.split("\n")
        .map((line) => line.trim().split(" ")[0]),
    ).toEqual(Array.from({ length: 18 }, (_, i) => `${i * 40 + 3}`));
    expect(stdout).toContain("npm run simulate -- --seed 7 --steps 20000 --trace seed-7.trace\n");
  });

  it("the command that npm run simulate prints shows the broken promise again", async () => {
    const file = join(folder, "again.trace");
    const { exitCode, stdout } = await simulate("--seed", `${FAKE_SEEDS.late}`, "--steps", "20000", "--trace", file);
    expect(exitCode).toBe(1);
    expect(stdout).toContain(FAKE_RULES.late);
    expect(readFileSync(file, "utf8").trim().split("\n")).toHaveLength(700);
  });

  it("npm run simulate reports a result that differs the second time as an error of the simulation", async () => {
    const { exitCode, stdout } = await simulate("--seed", `${FAKE_SEEDS.unlike}`, "--steps", "60");
    expect(exitCode).toBe(1);
    expect(stdout).toContain("the simulation is not deterministic");
  });
});

describe("errors of the simulation", () => {
  it.each([
    ["where it is awaited", FAKE_SEEDS.throws, "thrown by the fake"],
    ["where nobody awaits it", FAKE_SEEDS.throwsAside, "thrown aside by the fake"],
  ])("a simulation that throws %s exits 1 and names the seed", async (_, seed, message) => {
    const { exitCode, stderr, stdout } = await simulate("--seed", `${seed}`);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`The simulation itself broke at seed ${seed}: Error: ${message}`);
    expect(stdout).toMatch(/^Not all seeds have ended\. Of 0 seeds that have: no promise was broken\.$/m);
  });

  it("a simulation that throws starts no other seed, and still reports the seeds before", async () => {
    const args = ["--seeds", `${FAKE_SEEDS.neverEnds}`, "--steps", "1000", "--threads", "2"];
    const { exitCode, stderr, stdout } = await simulate(...args);
    expect(exitCode).toBe(1);
    expect(stdout).toContain("Not all seeds have ended.");
    expect(stdout).toContain(`Seed ${FAKE_SEEDS.late} broke a promise at step 700: `);
    expect(stderr).toContain(`The simulation itself broke at seed ${FAKE_SEEDS.throws}`);
  });
});

describe("--defects", () => {
  const rowOf = (stdout: string, name: string) => stdout.split("\n").find((line) => line.startsWith(`${name} `)) ?? "";

  it("npm run simulate --defect exits 0 when the planted defect is found, and prints by which rule and after how many steps", async () => {
    const { exitCode, stdout } = await simulate("--defect", "found-late");
    expect(exitCode).toBe(0);
    expect(rowOf(stdout, "found-late")).toMatch(new RegExp(` 16,084 +3 {2}${FAKE_RULES.late}$`));
    expect(stdout).toContain("1 of 1 defect found.");
  });

  it("npm run simulate --defects exits 1 when a defect is not found, cannot be planted, or breaks a rule that breaks without it too", async () => {
    const { exitCode, stdout } = await simulate("--defects", "--seeds", "6", "--steps", "100");
    expect(exitCode).toBe(1);
    expect(rowOf(stdout, "found-at-once")).toMatch(new RegExp(` 10 +1 {2}${FAKE_RULES.early}$`));
    expect(rowOf(stdout, "never-found")).toContain("NOT FOUND in 6 seeds, 612 steps: what never-found is");
    expect(rowOf(stdout, "does-not-fit")).toContain("NOT PLANTED: it does not fit");
    expect(stdout).toContain("2 of 4 defects found.");
    expect(stdout).toMatch(/^Slowest: .*never-found \d+ s/m);
    expect(stdout).toMatch(/^All of it: \d+ s$/m);
    expect(stdout).toMatch(/^Not found: never-found, does-not-fit$/m);

    const late = `${FAKE_SEEDS.late}`;
    const anyway = await simulate("--defect", "never-found", "--seed", late);
    expect(anyway.exitCode).toBe(1);
    expect(anyway.stdout).toContain(`NOT FOUND: seed ${late} breaks a promise without it: ${FAKE_RULES.late}`);
  });

  it("npm run simulate --defects prints the same lines in the same order with any number of threads", async () => {
    const args = ["--defects", "--seeds", "6", "--steps", "100"];
    const [one, three] = await Promise.all(["1", "3"].map((threads) => simulate(...args, "--threads", threads)));
    const withoutSeconds = (stdout = "") => stdout.replace(/^(Slowest|All of it): .*$/gm, "");
    expect(withoutSeconds(three?.stdout)).toBe(withoutSeconds(one?.stdout));
  });

  it("npm run simulate --defect runs a single seed and writes its trace when the options ask for it", async () => {
    const file = join(folder, "defect.trace");
    const args = ["--defects", "--defect", "found-late", "--seed", "3", "--steps", "200", "--trace", file];
    const { exitCode, stdout } = await simulate(...args);
    expect(exitCode).toBe(0);
    expect(rowOf(stdout, "found-late")).toMatch(/ 80 +3 {2}/);
    expect(readFileSync(file, "utf8").trim().split("\n")).toHaveLength(80);
  });
});

describe("wrong use", () => {
  it.each([
    [["7"], "Unexpected argument '7'"],
    [["--seed"], "argument missing"],
    [["--seed", "7", "--seed", "8"], "--seed may be given once"],
    [["--seed", "seven"], '--seed "seven" is not a whole number from 0 to 2147483647'],
    [["--seed", "2147483648"], "--seed"],
    [["--seeds", "0"], "--seeds"],
    [["--steps", "1.5"], "--steps"],
    [["--steps", "0"], "--steps"],
    [["--seconds", "0"], "--seconds"],
    [["--threads", "0"], "--threads"],
    [["--seed", "7", "--seeds", "2"], "--seeds"],
    [["--seed", "7", "--from", "x"], "--from"],
    [["--seed", "7", "--seconds", "2"], "--seconds"],
    [["--defects", "--seconds", "2"], "--seconds"],
    [["--trace", "x"], "--seed"],
    [["--seed", "7", "--trace", ""], "name of a file"],
    [["--defects", "--seed", "7", "--trace", "x"], "--defect"],
    [["--defect", "no-such"], "found-at-once, found-late"],
    [["--from", ""], "--from"],
    [["--report", ""], "name of a file"],
    [["--report", "x", "--defects"], "--report"],
  ])("npm run simulate refuses the arguments %j", (args, reason) => {
    const read = () => readCommand(args, ["found-at-once", "found-late"]);
    expect(read).toThrow(UsageError);
    expect(read).toThrow(reason);
  });

  it.each([
    [["--sed", "7"], "Unknown option '--sed'"],
    [["--seed", "7", "--trace", "/no/such/folder/x"], "could not be written"],
    [["--report", "/no/such/folder/x"], "could not be written"],
  ])("npm run simulate exits 2 for %j with a hint at --help", async (args, reason) => {
    const { exitCode, stdout, stderr } = await simulate(...args);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(reason);
    expect(stderr).toContain("npm run simulate -- --help tells how.");
    expect(stdout).toBe("");
  });

  it("npm run simulate exits 2 and names the missing option when node runs without the option that it needs", async () => {
    const [, ...args] = simulateArguments(true);
    const { exitCode, stderr } = await run(process.execPath, [...args, "--seed", "1"]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain("--js-base-64");
  });

  it("npm run simulate --help exits 0 and lists all options", async () => {
    const { exitCode, stdout } = await simulate("--help");
    expect(exitCode).toBe(0);
    const options = ["seed", "seeds", "steps", "seconds", "from", "trace", "report", "defects", "defect", "threads"];
    for (const option of options) {
      expect(stdout).toContain(`  --${option} `);
    }
  });
});

describe("Ctrl-C", () => {
  /** Interrupts the command while it runs an endless seed. */
  async function interrupted(...args: string[]) {
    const child = spawn(process.execPath, [...simulateArguments(true), ...args], { stdio: "pipe" });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
      if (stderr === "never ends\n") child.kill("SIGINT");
    });
    const exitCode = await new Promise((resolve) => void child.on("close", resolve));
    return { exitCode, stdout, stderr };
  }

  it("Ctrl-C ends a simulation, prints what ran until then, and exits 130", async () => {
    const { exitCode, stdout, stderr } = await interrupted("--seed", `${FAKE_SEEDS.neverEnds}`);
    expect(exitCode).toBe(130);
    expect(stdout).toContain("Not all seeds have ended.");
    expect(stderr).toBe("never ends\n");
  });

  it("a simulation that is ended by Ctrl-C exits 1 and names the seed when a promise was already broken", async () => {
    const args = ["--seeds", `${FAKE_SEEDS.neverEnds}`, "--steps", "100", "--threads", "1"];
    const { exitCode, stdout } = await interrupted(...args);
    expect(exitCode).toBe(1);
    expect(stdout).toContain("Of 41 seeds that have: 2 seeds broke a promise.");
    expect(stdout).toContain(`Seed ${FAKE_SEEDS.early} broke a promise at step 50: `);
    expect(stdout).not.toContain("What happened");
  });
});
