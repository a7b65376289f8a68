import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { runSimulate } from "../support/run-simulate.ts";

const STEPS = 5000;

const folder = mkdtempSync(join(tmpdir(), "simulation-test-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** The trace of a seed, which its own process writes. */
async function traceOf(seed: number): Promise<string> {
  const file = join(folder, `${seed}.trace`);
  const { exitCode, stdout, stderr } = await runSimulate("--seed", `${seed}`, "--steps", `${STEPS}`, "--trace", file);
  expect(exitCode, stdout + stderr).toBe(0);
  return readFileSync(file, "utf8");
}

it("a seed of the simulation gives the same trace, byte for byte, in another process", async () => {
  const first = await traceOf(7);
  expect(first.split("\n").length).toBeGreaterThan(STEPS / 10);
  // toBe() is not used, because printing the difference of two such texts takes minutes.
  expect((await traceOf(7)) === first).toBe(true);
  expect((await traceOf(8)) === first).toBe(false);
});

it("the simulation gives the same result on one thread and on two, so no run affects the next one", async () => {
  const [one, two] = await Promise.all(
    ["1", "2"].map(async (threads) => {
      const { exitCode, stdout, stderr } = await runSimulate(
        "--seeds",
        "4",
        "--steps",
        `${STEPS}`,
        "--threads",
        threads,
      );
      expect(exitCode, stdout + stderr).toBe(0);
      return stdout.replace(/^real seconds .*$/m, "");
    }),
  );
  expect(two).toBe(one);
  expect(one).toContain("What was seen:\n");
});
