import { type Runtime, systemRuntime } from "../../src/core/runtime.ts";
import type { JobRecord, RequestRecord, Telemetry, WarningRecord } from "../../src/core/telemetry/telemetry.ts";

/** 2027-01-15T08:00:00Z, in Unix seconds. Tests have their own clock and never read the machine's. */
export const NOW = 1_800_000_000;

/**
 * A runtime with the machine's random numbers and timers, and with the test's wall clock. Durations follow `Date`, so that fake
 * timers change them.
 */
export function runtimeAt(now: () => number): Runtime {
  return { ...systemRuntime, now, elapsed: () => Date.now() };
}

/** A telemetry that collects every log record. */
export function keptTelemetry() {
  const keptRecords = { requests: [] as RequestRecord[], jobs: [] as JobRecord[], warnings: [] as WarningRecord[] };
  const telemetry: Telemetry = {
    request: (record) => void keptRecords.requests.push(record),
    job: (record) => void keptRecords.jobs.push(record),
    warn: (record) => void keptRecords.warnings.push(record),
  };
  return { ...keptRecords, telemetry };
}
