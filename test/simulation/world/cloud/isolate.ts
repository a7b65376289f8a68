import type { Chance } from "../../machine/chance.ts";
import { after, EPOCH, type Fetch, type ProgramImage } from "../../machine/program.ts";
import type { Scheduler } from "../../machine/scheduler.ts";
import type { Call } from "../call.ts";
import type { Settings } from "./settings.ts";

type Worker = ReturnType<ReturnType<ProgramImage["startWorker"]>["createWorker"]>;

type Deployed = Pick<Isolate, "name" | "edge" | "settings" | "env">;

/** One isolate of the Worker, with its own modules, memory and clock. */
export class Isolate {
  readonly name: string;
  readonly edge: string;
  readonly settings: Settings;
  readonly env: object;
  readonly worker: Worker;
  /** True once a later deployment has replaced it: it serves no new calls. */
  isRetired = false;
  /** Every call that began here, including those that were cut off. */
  readonly calls = new Set<Call>();
  readonly #now: () => number;

  constructor(
    image: ProgramImage,
    scheduler: Scheduler,
    chance: Chance,
    { skew, log, fetch, ...deployment }: Deployed & { skew: number; log: (record: object) => void; fetch: Fetch },
  ) {
    this.name = deployment.name;
    this.edge = deployment.edge;
    this.settings = deployment.settings;
    this.env = deployment.env;
    this.#now = () => Math.floor(EPOCH + scheduler.now + skew);
    const runtime = {
      now: this.#now,
      elapsed: () => scheduler.now,
      after: (milliseconds: number, callback: () => void) => after(scheduler, milliseconds, callback),
      random: () => chance.number(),
      bytes: (length: number) => chance.bytes(length),
      uuid: () => chance.uuid(),
    };
    const telemetry = { request: log, job: log, warn: log };
    const program = image.startWorker(scheduler, { now: this.#now }, chance.fork(), fetch);
    this.worker = program.createWorker(runtime, telemetry);
  }

  /** The isolate's clock in Unix seconds. */
  get clock(): number {
    return Math.floor(this.#now() / 1000);
  }

  /** Ends the isolate and all of its work; no answer reaches or leaves it any more. */
  kill(): Call[] {
    const calls = [...this.calls].filter((call) => call.alive);
    for (const call of calls) call.alive = false;
    return calls;
  }
}
