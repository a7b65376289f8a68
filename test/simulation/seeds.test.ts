import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { OPERATIONS } from "../../src/operations/index.ts";
import type { CliResult } from "../support/run-cli.ts";
import { runSimulate } from "../support/run-simulate.ts";
import { FOUND_SEEDS } from "./found-seeds.ts";
import { worldNames } from "./gates/names.ts";
import { NIGHTLY } from "./gates/nightly.ts";
import { operationNames } from "./gates/operations.ts";
import { notAsked, notSeen, type Report } from "./gates/report.ts";

/** About 25 s on two cores. */
const FIXED = ["--seeds", "16"];

const TIME_LIMIT_MS = 240_000;

function expectNothingFound(args: readonly string[], { exitCode, stdout, stderr }: CliResult) {
  expect(exitCode, `npm run simulate -- ${args.join(" ")}\n\n${stdout}${stderr}`).toBe(0);
}

describe("the simulated service", { timeout: TIME_LIMIT_MS }, () => {
  const folder = mkdtempSync(join(tmpdir(), "seeds-test-"));
  const file = join(folder, "report.json");
  afterAll(() => rmSync(folder, { recursive: true }));

  let fixed: CliResult;
  beforeAll(async () => {
    fixed = await runSimulate(...FIXED, "--report", file);
  }, TIME_LIMIT_MS);
  const report = () => JSON.parse(readFileSync(file, "utf8")) as Report;
  const notLeftToTheNight = (name: string) => !Object.hasOwn(NIGHTLY, name);

  it("keeps its promises in a fixed set of seeds", () => expectNothingFound(FIXED, fixed));

  it("accepts, repeats and refuses each operation there, by each of its rules", () => {
    expect(notSeen(report(), operationNames(OPERATIONS)).filter(notLeftToTheNight)).toEqual([]);
  });

  it("meets each act, attack, fault and hand there", () => {
    expect(notSeen(report(), worldNames()).filter(notLeftToTheNight)).toEqual([]);
  });

  it("is asked each rule there", () => {
    expect(notAsked(report()).filter(notLeftToTheNight)).toEqual([]);
  });

  it.each(FOUND_SEEDS)("$name (seed $seed)", async ({ seed, steps }) => {
    const asked = ["--seed", `${seed}`, "--steps", `${steps}`];
    expectNothingFound(asked, await runSimulate(...asked));
  });
});
