import { consoleTelemetry } from "../../src/core/telemetry/telemetry.ts";

/** The log as a deployment writes it. */
export const TELEMETRY = consoleTelemetry("0.0.0-test");
