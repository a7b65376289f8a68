import type { bundle } from "../bundle.ts";
import type { Defect } from "../defects.ts";

/** The parts that the command runs. Its own tests replace them with small fakes. */
export interface Parts {
  /** The path of the module that exports `run`. */
  runModule: string;
  bundle: typeof bundle;
  defects: readonly Defect[];
}
