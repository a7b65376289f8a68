import { replacing } from "./replacing.ts";

/**
 * How a call of a binding fails. After `during` and `never done` the work is not done. After `after` and `done in silence` it is
 * done.
 */
export type Fault =
  /** Fails before it reaches the binding. */
  | "before"
  /** Fails in the middle: its work is rolled back. */
  | "during"
  /** Does its work, then loses the answer and throws an error instead. */
  | "after"
  /** Throws synchronously instead of returning a promise. */
  | "throws"
  /** Never reaches the binding and never answers. */
  | "never done"
  /** Does its work and never answers. */
  | "done in silence"
  /** Answers nothing until the faults are over, and does its work only then. */
  | "late";

export const FAULTS: Fault[] = ["before", "during", "after", "throws", "never done", "done in silence", "late"];

/** One call of a binding: its name, such as `DB.batch`, and how many calls of that name came before it. */
export interface Call {
  name: string;
  nth: number;
}

/** D1's text for a lost connection, which its documentation calls transient. */
export const TRANSIENT_MESSAGE = "D1_ERROR: Network connection lost.";

type FaultPlan = (call: Call) => Fault | undefined;

/** Adds faults to the calls of wrapped bindings. Until {@link Faults.end}, a plan decides which call fails and how. */
export class Faults {
  /** Every call since the plan was made, in order. */
  calls: string[] = [];
  #plan: FaultPlan;
  readonly #message: string;
  #late: (() => Promise<unknown>)[] = [];
  #silent: ((error: Error) => void)[] = [];
  #working = 0;

  constructor(plan: FaultPlan = () => undefined, message = TRANSIENT_MESSAGE) {
    this.#plan = plan;
    this.#message = message;
  }

  /** Sets a new plan, and counts the calls from zero. */
  plan(plan: FaultPlan): void {
    this.#plan = plan;
    this.calls = [];
  }

  /** True while calls are in flight, and none of them will answer. */
  get isSilent(): boolean {
    return this.#working === 0 && this.#silent.length + this.#late.length > 0;
  }

  /** True while a call is in flight in the real binding. */
  get isWorking(): boolean {
    return this.#working > 0;
  }

  /** Ends the faults: late calls do their work now, and silent ones fail so that nothing waits for ever. */
  async end(): Promise<void> {
    this.#plan = () => undefined;
    for (const fail of this.#silent.splice(0)) fail(this.#error());
    await Promise.all(this.#late.splice(0).map((work) => work()));
  }

  /** Makes a call through the faults. Not an async function, because `throws` must throw synchronously. */
  through<T>(name: string, work: () => Promise<T>, rolledBack?: () => Promise<unknown>): Promise<T> {
    const nth = this.calls.filter((each) => each === name).length;
    this.calls.push(name);
    const fault = this.#plan({ name, nth });
    if (fault === "throws") throw this.#error();
    return this.#run(fault, work, rolledBack);
  }

  async #run<T>(fault: Fault | undefined, work: () => Promise<T>, rolledBack?: () => Promise<unknown>): Promise<T> {
    if (fault === undefined) return this.#busy(work);
    if (fault === "during" && rolledBack !== undefined) await this.#busy(rolledBack);
    if (fault === "after" || fault === "done in silence") await this.#busy(work);
    if (fault === "late") {
      return new Promise<T>((resolve, reject) => {
        this.#late.push(() => work().then(resolve, reject));
      });
    }
    if (fault === "never done" || fault === "done in silence") {
      return new Promise<T>((_, reject) => this.#silent.push(reject));
    }
    throw this.#error();
  }

  async #busy<T>(work: () => Promise<T>): Promise<T> {
    this.#working += 1;
    try {
      return await work();
    } finally {
      this.#working -= 1;
    }
  }

  #error(): Error {
    return new Error(this.#message);
  }
}

/** A database whose `prepare`, `batch` and single statements go through the faults. */
export function faultyD1(db: D1Database, faults: Faults): D1Database {
  const real = new WeakMap<object, D1PreparedStatement>();
  const wrap = (statement: D1PreparedStatement): D1PreparedStatement => {
    const single = (method: "first" | "all" | "run" | "raw") =>
      function viaFaults(...args: unknown[]) {
        const call = statement[method] as (...args: unknown[]) => Promise<unknown>;
        return faults.through(`DB.${method}`, () => call.apply(statement, args));
      };
    const wrappedStatement = replacing(statement, {
      bind: (...values: unknown[]) => wrap(statement.bind(...values)),
      first: single("first"),
      all: single("all"),
      run: single("run"),
      raw: single("raw"),
    });
    real.set(wrappedStatement, statement);
    return wrappedStatement;
  };
  const unwrap = (statement: D1PreparedStatement) => real.get(statement) ?? statement;
  return replacing(db, {
    prepare: (sql: string) => wrap(db.prepare(sql)),
    batch: (statements: D1PreparedStatement[]) => {
      const batch = statements.map(unwrap);
      const rolledBack = () => db.batch([...batch, db.prepare("SELECT no_such_function()")]).catch(() => {});
      return faults.through("DB.batch", () => db.batch(batch), rolledBack);
    },
  });
}

/** A KV namespace whose calls go through the faults, under the name of its binding. */
export function faultyKv(kv: KVNamespace, faults: Faults, name: string): KVNamespace {
  const via = (method: "get" | "put" | "delete") =>
    function viaFaults(...args: unknown[]) {
      const call = kv[method] as (...args: unknown[]) => Promise<unknown>;
      return faults.through(`${name}.${method}`, () => call.apply(kv, args));
    };
  return replacing(kv, { get: via("get"), put: via("put"), delete: via("delete") });
}

/** A rate limiter whose calls go through the faults. */
export function faultyLimit(limit: RateLimit, faults: Faults, name: string): RateLimit {
  return { limit: (options) => faults.through(`${name}.limit`, () => limit.limit(options)) };
}
