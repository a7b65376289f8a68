import { systemRuntime } from "../../src/core/runtime.ts";
import { createWorker } from "../../src/worker.ts";
import { SHOWN } from "./shown-time.ts";

/** The Worker with a clock that stands still, so that a page shows the same times on every run. */
export default createWorker({ ...systemRuntime, now: () => SHOWN * 1000 });
