import type { bundle } from "../bundle.ts";
import type { Defect } from "../defects.ts";

/** What the command runs. Its own tests put in something small. */
export interface Parts {
  /** The module that has `run`. */
  runModule: string;
  bundle: typeof bundle;
  defects: readonly Defect[];
}
