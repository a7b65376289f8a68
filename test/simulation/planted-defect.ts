import type { Edit } from "./bundle.ts";

/** A defect that is planted in src/ to see whether the simulation finds it. */
export interface Defect {
  /** The id on the command line: "gate-without-site". */
  name: string;
  /** What is wrong with the code, as a sentence. */
  what: string;
  edits: Edit[];
}

/** A defect of one edit. */
export const oneEditDefect = (name: string, what: string, file: string, find: string, replace: string): Defect => ({
  name,
  what,
  edits: [{ file, find, replace }],
});
