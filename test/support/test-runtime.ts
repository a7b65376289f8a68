import { type Runtime, systemRuntime } from "../../src/core/runtime.ts";
import type { JobRecord, RequestRecord, Telemetry, WarningRecord } from "../../src/core/telemetry/telemetry.ts";

/** 2027-01-15T08:00:00Z. Tests bring their own clock; nothing here reads the machine's. */
export const NOW = 1_800_000_000;

/** The machine's random numbers and timers, with the test's own wall clock. Durations follow `Date`, so that fake timers move them. */
export function runtimeAt(now: () => number): Runtime {
  return { ...systemRuntime, now, elapsed: () => Date.now() };
}

/** Keeps every log record. */
export function keptTelemetry() {
  const kept = { requests: [] as RequestRecord[], jobs: [] as JobRecord[], warnings: [] as WarningRecord[] };
  const telemetry: Telemetry = {
    request: (record) => void kept.requests.push(record),
    job: (record) => void kept.jobs.push(record),
    warn: (record) => void kept.warnings.push(record),
  };
  return { ...kept, telemetry };
}
