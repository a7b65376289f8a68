/** A seed that broke a promise once. It is run again by each `npm test`, so that what was mended stays so. */
interface FoundSeed {
  /** What must hold, in the present tense. */
  name: string;
  seed: number;
  steps: number;
}

/**
 * A seed means something only for the simulation that found it: when the simulation draws its chance in another way, the same number
 * is another day. So a found defect also gets a test of its own beside the code, or a place in defects.ts.
 */
export const FOUND_SEEDS: FoundSeed[] = [];
