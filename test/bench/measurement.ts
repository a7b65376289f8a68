import type { ProductionBundle } from "./production-bundle.ts";

/** What one part of the bench found. */
export interface Measurement {
  title: string;
  tables: Table[];
  goals: Goal[];
  notes: string[];
}

export interface Table {
  head: string[];
  rows: (string | number)[][];
}

export interface Goal {
  what: string;
  goal: string;
  result: string;
  met: boolean;
  /** A count that must hold, so that a miss fails the run; ratios depend on the machine and are only reported. */
  enforced: boolean;
}

export type Measure = (bundle: ProductionBundle) => Promise<Measurement>;
