import { createWorker } from "./worker.ts";

export default createWorker();
