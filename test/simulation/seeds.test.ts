import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CliResult } from "../support/run-cli.ts";
import { runSimulate } from "../support/run-simulate.ts";
import { operationNames, type Report, unaskedRules, unseenNames } from "./gates/gate.ts";
import { worldNames } from "./gates/names.ts";

/** Takes about a minute on two cores. */
const FIXED = ["--seeds", "32"];

const TIME_LIMIT_MS = 240_000;

describe("the simulated service", { timeout: TIME_LIMIT_MS }, () => {
  const folder = mkdtempSync(join(tmpdir(), "seeds-test-"));
  const file = join(folder, "report.json");
  afterAll(() => rmSync(folder, { recursive: true }));

  let result: CliResult;
  beforeAll(async () => {
    result = await runSimulate(...FIXED, "--report", file);
  }, TIME_LIMIT_MS);
  const report = () => JSON.parse(readFileSync(file, "utf8")) as Report;
  /**
   * How many names may be missing. Any change of the world changes these runs, so only the nightly run requires all.
   */
  const most = (names: readonly string[], share: number) => Math.floor(names.length * (1 - share));

  it("the simulated service keeps its promises in a fixed set of seeds", () => {
    expect(result.exitCode, `npm run simulate -- ${FIXED.join(" ")}\n\n${result.stdout}${result.stderr}`).toBe(0);
  });

  it("each operation is accepted, repeated, and refused by each of its rules in the fixed seeds", () => {
    expect(unseenNames(report(), operationNames())).toEqual([]);
  });

  it("at least two thirds of the acts, attacks, faults and changes by hand happen in the fixed seeds", () => {
    const names = worldNames();
    const missingNames = unseenNames(report(), names);
    expect(missingNames.length, missingNames.join("\n")).toBeLessThanOrEqual(most(names, 2 / 3));
  });

  it("at least nine tenths of the checker's rules are asked in the fixed seeds", () => {
    const missingRules = unaskedRules(report());
    expect(missingRules.length, missingRules.join("\n")).toBeLessThanOrEqual(most(Object.keys(report().rules), 0.9));
  });
});
