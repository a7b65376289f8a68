/** A seed that broke a promise once. It is run again by each `npm test`, so that what was mended stays so. */
export interface FoundSeed {
  /** What must hold, in the present tense. */
  name: string;
  seed: number;
  steps: number;
}

/**
 * A seed means something only for the simulation that found it: when the simulation draws its chance in another way, the same number
 * is another day. So a found defect also gets a test of its own beside the code, or a place in defects.ts.
 */
export const FOUND_SEEDS: FoundSeed[] = [
  { name: "answers the callers of a closed home at once, also while KV hangs", seed: 10, steps: 8_000 },
  {
    name: "keeps a site's next chat id in the directory when copies of two changes overtake each other",
    seed: 17,
    steps: 8_000,
  },
  { name: "finds an app whose record in KV names no home for all requests of one moment", seed: 41, steps: 8_000 },
  { name: "takes nothing of an app's quota for captured requests that meet a closed site", seed: 57, steps: 8_000 },
];
