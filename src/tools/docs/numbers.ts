/** A number that `npm run bench` measures. */
interface DescribedNumber {
  what: string;
  unit: keyof typeof UNITS | "";
  /** The goal: the least or the most. A number without a goal is only reported. */
  least?: number;
  most?: number;
}

/** The texts of numbers, by their unit. */
const UNITS = {
  "×": (value: number) => `${value.toFixed(2)} ×`,
  ms: (value: number) => `${value.toFixed(value < 10 ? 2 : 0)} ms`,
  KiB: (value: number) => `${value.toFixed(1)} KiB`,
  bytes: (value: number) => `${value.toFixed(0)} bytes`,
  "creates/s": (value: number) => `${value.toFixed(0)} creates/s`,
};

/** All numbers that the bench measures, by part and name, with the words of docs/numbers.md. The bench must give exactly these. */
export const NUMBERS = {
  "trips.warm": { what: "D1 trips before the answer to a create, warm isolate", unit: "", most: 1 },
  "trips.cold": { what: "D1 trips, cold isolate, KV has the app", unit: "", most: 1 },
  "trips.main": { what: "D1 trips, cold isolate, KV does not have the app or is down, home `main`", unit: "", most: 2 },
  "trips.home": {
    what: "D1 trips, cold isolate, KV does not have the app or is down, another home",
    unit: "",
    most: 3,
  },
  "distance.bare": { what: "p50 of a create, compared with a bare D1 trip", unit: "×", most: 1.04 },
  "distance.more": { what: "time of a create beyond the bare D1 trip", unit: "ms" },
  "distance.careful": { what: "p50 of the careful peer, compared with production", unit: "×", least: 1.5 },
  "database.creates": { what: "creates that one database can do, by D1's CPU on this machine", unit: "creates/s" },
  "database.careful": {
    what: "creates that one database can do, compared with the careful peer",
    unit: "×",
    least: 1.2,
  },
  "database.bytes": { what: "bytes that a session adds to a database, with its indexes", unit: "bytes" },
  "throughput.floor": { what: "creates a second, compared with the floor", unit: "×", least: 0.95 },
  "throughput.cpu": { what: "CPU of a create with D1 and KV, compared with the floor", unit: "×", most: 1.08 },
  "cpu.create": { what: "CPU of a create with HTTP, without D1 and KV", unit: "ms", most: 1 },
  "cpu.floor": { what: "CPU of a create without D1 and KV, compared with the floor", unit: "×" },
  "cpu.careful": { what: "CPU of a create without D1 and KV, compared with the careful peer", unit: "×" },
  "rows.written": { what: "rows that a create writes, for a new customer with two agents", unit: "", most: 7 },
  "rows.read": { what: "rows that a create reads", unit: "" },
  "rows.kv-reads": { what: "keys of KV that a create reads", unit: "" },
  "rows.kv-writes": { what: "keys of KV that a create writes", unit: "" },
  "rows.pruned": { what: "rows that pruning writes later for a create", unit: "" },
  "rows.keyed": { what: "rows that a create writes with an Idempotency-Key", unit: "", most: 8 },
  "rows.event": { what: "rows that a create writes with events on", unit: "", most: 8 },
  "rows.webhook": { what: "rows that a create writes with one webhook", unit: "", most: 10 },
  "rows.delivery": { what: "rows that the delivery of one event writes", unit: "" },
  "events.stored": { what: "CPU of a create with one webhook, compared with none", unit: "×" },
  "events.delivered": {
    what: "CPU of a create and of its delivery in the same isolate, compared with no webhook",
    unit: "×",
  },
  "module.load": { what: "CPU of loading the module, beyond that of an empty Worker", unit: "ms", most: 25 },
  "module.release": { what: "CPU of loading the module, compared with the last release", unit: "×", most: 1 },
  "module.least": { what: "CPU of loading only hono and the tables' schema", unit: "ms" },
  "module.operator": {
    what: "CPU of an operator's first request in an isolate, beyond that of an empty Worker",
    unit: "ms",
  },
  "size.minified": { what: "the whole Worker, minified", unit: "KiB" },
  "size.gzipped": { what: "the whole Worker, minified and gzipped", unit: "KiB" },
} as const satisfies Record<string, DescribedNumber>;

export type NumberName = keyof typeof NUMBERS;

/** A result. For a median, `low` and `high` are the results of the lowest and the highest start. */
export interface BenchResult {
  value: number;
  low?: number;
  high?: number;
}

/** The content of docs/numbers.json: the results of one whole run of the bench. */
export interface Measured {
  /** The date and the machine. */
  measured: string;
  results: Record<NumberName, BenchResult>;
}

const describedNumber = (name: NumberName): DescribedNumber => NUMBERS[name];

/** A value as the pages write it, with its unit. */
export function numberText(name: NumberName, value: number): string {
  const { unit } = describedNumber(name);
  return unit === "" ? String(value) : UNITS[unit](value);
}

/** A result with its range. */
export function shownResult(name: NumberName, { value, low, high }: BenchResult): string {
  if (low === undefined || high === undefined) return numberText(name, value);
  const withoutUnit = (end: number) => numberText(name, end).split(" ")[0];
  return `${numberText(name, value)} (${withoutUnit(low)} to ${withoutUnit(high)})`;
}

export function goalText(name: NumberName): string {
  const { least, most } = describedNumber(name);
  if (least !== undefined) return `≥ ${numberText(name, least)}`;
  return most === undefined ? "" : `≤ ${numberText(name, most)}`;
}

export function isGoalMet(name: NumberName, { value }: BenchResult): boolean {
  const { least = -Infinity, most = Infinity } = describedNumber(name);
  return value >= least && value <= most;
}
