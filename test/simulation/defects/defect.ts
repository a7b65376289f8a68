import type { Edit } from "../bundle.ts";

/** A defect that is planted in src/ to see whether the simulation finds it. */
export interface Defect {
  /** Short, for the command line: "gate-without-site". */
  name: string;
  /** What is wrong with the code then, as a sentence. */
  what: string;
  edits: Edit[];
  /** How many turns each seed takes at least, where a day of the usual length is too short to show it. */
  steps?: number;
}

/** For what needs several rare things at once. */
export const LONGER = 24_000;
