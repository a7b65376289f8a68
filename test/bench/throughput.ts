import type { ResultsOf } from "./bench-part.ts";
import type { ProductionBundle } from "./production-bundle.ts";
import { ratiosOf, sideBySide } from "./side-by-side.ts";
import { startSide } from "./sides.ts";

const PLAN = { starts: 6, warming: 16, rounds: 10 };

/**
 * create_gd as fast as this machine can serve it, beside a floor Worker with the same KV calls, the same SQL and one log line. For
 * both, workerd's CPU time includes the simulation of D1 and KV.
 */
export async function measureThroughput(bundle: ProductionBundle): Promise<ResultsOf<"throughput">> {
  const starts = await sideBySide(["production", "floor"], PLAN, (side) => startSide(bundle, side));
  return {
    "throughput.floor": ratiosOf(starts, "ms", "floor", "production"),
    "throughput.cpu": ratiosOf(starts, "cpu", "production", "floor"),
  };
}
