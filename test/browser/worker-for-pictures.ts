import { systemRuntime } from "../../src/runtime.ts";
import { createWorker } from "../../src/worker.ts";
import { SHOWN } from "./shown.ts";

/** The Worker with a clock that stands still, so that the same pages show the same times at every run. */
export default createWorker({ ...systemRuntime, now: () => SHOWN * 1000 });
