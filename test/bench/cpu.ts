import type { ResultsOf } from "./bench-part.ts";
import { load } from "./keep-alive-load.ts";
import type { ProductionBundle } from "./production-bundle.ts";
import { createRequest, ofSide, ratiosOf, sideBySide } from "./side-by-side.ts";
import { SIDES, startSide } from "./sides.ts";
import { benchModule } from "./start-worker.ts";

const PLAN = { starts: 4, warming: 10, rounds: 16 };

/** The CPU time of the Worker for a create_gd with its HTTP. D1 and KV answer from memory. */
export async function measureCpu(bundle: ProductionBundle): Promise<ResultsOf<"cpu">> {
  const starts = await sideBySide(SIDES, PLAN, async (side) => {
    const front = [benchModule("stubbed-worker.ts"), benchModule("counter-limit.ts")];
    const worker = await startSide(bundle, side, front);
    // One real request fills the isolate's caches and records D1's answers for the stub.
    await load(worker.url, [createRequest()], 1);
    await fetch(`${worker.url}/bench/stub`);
    return worker;
  });
  return {
    "cpu.create": ofSide(starts, "cpu", "production"),
    "cpu.floor": ratiosOf(starts, "cpu", "production", "floor"),
    "cpu.careful": ratiosOf(starts, "cpu", "production", "careful"),
  };
}
