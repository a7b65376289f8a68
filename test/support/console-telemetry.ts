import { consoleTelemetry } from "../../src/core/telemetry/telemetry.ts";

/** The log as a deployment writes it. */
export const TELEMETRY = consoleTelemetry("0.0.0-test");

/** The records of the lines that a spy of the console got, without their version. */
export const recordsOf = (spy: { mock: { calls: unknown[][] } }) =>
  spy.mock.calls.map(([line]) => {
    const { version: _, ...record } = JSON.parse(String(line)) as Record<string, unknown>;
    return record;
  });
