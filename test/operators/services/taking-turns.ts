import { replacing } from "../../support/replacing.ts";

/** Lets several callers take turns at the database. Each trip waits until the order names its caller. */
export class TakingTurns {
  readonly #order: string[];
  #waiting: { who: string; go: () => void }[] = [];
  #done = new Set<string>();
  #busy = false;

  /** @param order a letter for each trip. When the order is over, all callers may go on. */
  constructor(order: string) {
    this.#order = [...order];
  }

  /** Runs the call of one caller. A thrown error comes back as a value. */
  async run<T>(who: string, call: () => Promise<T>): Promise<PromiseSettledResult<T>> {
    const [outcome] = await Promise.allSettled([call()]);
    this.#done.add(who);
    this.#next();
    return outcome as PromiseSettledResult<T>;
  }

  /** A database whose trips, statements and batches alike, count as this caller's. */
  database(db: D1Database, who: string): D1Database {
    const real = new WeakMap<object, D1PreparedStatement>();
    const wrap = (statement: D1PreparedStatement): D1PreparedStatement => {
      const trip =
        (method: "first" | "all" | "run" | "raw") =>
        (...args: unknown[]) =>
          this.#trip(who, () => (statement[method] as (...args: unknown[]) => Promise<unknown>).apply(statement, args));
      const methods = { first: trip("first"), all: trip("all"), run: trip("run"), raw: trip("raw") };
      const bind = (...values: unknown[]) => wrap(statement.bind(...values));
      const proxy = replacing(statement, { ...methods, bind });
      real.set(proxy, statement);
      return proxy;
    };
    return replacing(db, {
      prepare: (sql: string) => wrap(db.prepare(sql)),
      batch: (statements: D1PreparedStatement[]) =>
        this.#trip(who, () => db.batch(statements.map((each) => real.get(each) ?? each))),
    });
  }

  async #trip<T>(who: string, work: () => Promise<T>): Promise<T> {
    await new Promise<void>((go) => {
      this.#waiting.push({ who, go });
      this.#next();
    });
    try {
      return await work();
    } finally {
      this.#busy = false;
      this.#next();
    }
  }

  #next(): void {
    if (this.#busy) return;
    while (this.#done.has(this.#order[0] ?? "")) this.#order.shift();
    const due = this.#order[0];
    const at = due === undefined ? 0 : this.#waiting.findIndex(({ who }) => who === due);
    const [next] = at < 0 ? [] : this.#waiting.splice(at, 1);
    if (next === undefined) return;
    this.#order.shift();
    this.#busy = true;
    next.go();
  }
}

/** Every order of these letters: `IIR` has IIR, IRI and RII. */
export function ordersOf(letters: string): string[] {
  if (letters === "") return [""];
  return [...new Set(letters)].flatMap((first) => ordersOf(letters.replace(first, "")).map((others) => first + others));
}
