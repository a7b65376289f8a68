/** A seed that once broke a promise. Each `npm run test:seeds` runs it again, so that the mended fault stays mended. */
interface FoundSeed {
  /** The rule, in the present tense. */
  name: string;
  seed: number;
  steps: number;
}

/**
 * A seed is valid only for the simulation that found it: when the simulation draws its random numbers in another way,
 * the same seed gives another run. So a mended fault also gets a test beside the code, or a defect in defects.ts.
 */
export const FOUND_SEEDS: FoundSeed[] = [];
