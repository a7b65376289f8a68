import type { Edit } from "./bundle.ts";

/** A defect that is planted in src/ to see whether the simulation finds it. */
export interface Defect {
  /** The id on the command line: "gate-without-site". */
  name: string;
  /** What is wrong with the code, as a sentence. */
  what: string;
  edits: Edit[];
  /** The least number of turns of each seed, for a defect that a run of the usual length does not show. */
  steps?: number;
}

/** For defects that show only after several rare events at once. */
export const LONGER = 24_000;
