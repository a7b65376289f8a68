import type { ProductionBundle } from "./production-bundle.ts";

/** The result of one part of the bench. */
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
  /** True for a count, whose miss fails the run. Ratios depend on the machine and are only reported. */
  enforced: boolean;
}

export type Measure = (bundle: ProductionBundle) => Promise<Measurement>;
