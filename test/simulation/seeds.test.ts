import { describe, expect, it } from "vitest";
import { runSimulate } from "../support/run-simulate.ts";
import { FOUND_SEEDS } from "./found-seeds.ts";

/** About 25 s on two cores. */
const FIXED = ["--seeds", "16"];

const TIME_LIMIT_MS = 240_000;

async function expectNothingFound(...args: string[]) {
  const { exitCode, stdout, stderr } = await runSimulate(...args);
  expect(exitCode, `npm run simulate -- ${args.join(" ")}\n\n${stdout}${stderr}`).toBe(0);
}

describe("the simulated service", { timeout: TIME_LIMIT_MS }, () => {
  it("keeps its promises in a fixed set of seeds", () => expectNothingFound(...FIXED));

  it.each(FOUND_SEEDS)("$name (seed $seed)", ({ seed, steps }) =>
    expectNothingFound("--seed", `${seed}`, "--steps", `${steps}`),
  );
});
