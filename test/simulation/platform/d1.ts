import { notSimulated } from "../not-simulated.ts";
import type { Bound, Cell, Database, Given } from "./database.ts";

/**
 * How a call travels: `work` runs at the other end. A carrier decides when it runs, whether it runs at all, and whether
 * the answer arrives.
 */
export type Carry = <T>(call: string, work: () => T) => Promise<T>;

/** A carrier without delay. */
export const carryAtOnce: Carry = async (_, work) => work();

/** SQLite's result codes. The low byte of an extended code is the plain code. */
const CODES: Record<number, string> = {
  1: "SQLITE_ERROR",
  18: "SQLITE_TOOBIG",
  19: "SQLITE_CONSTRAINT",
  20: "SQLITE_MISMATCH",
  23: "SQLITE_AUTH",
  275: "SQLITE_CONSTRAINT_CHECK",
  787: "SQLITE_CONSTRAINT_FOREIGNKEY",
  1299: "SQLITE_CONSTRAINT_NOTNULL",
  1555: "SQLITE_CONSTRAINT_PRIMARYKEY",
  1811: "SQLITE_CONSTRAINT_TRIGGER",
  2067: "SQLITE_CONSTRAINT_UNIQUE",
  3091: "SQLITE_CONSTRAINT_DATATYPE",
};

/**
 * A D1 binding to a database. test/simulation/conformance runs one list of statements on it and on the real one.
 *
 * Features that src/ does not use are refused: exec(), withSession(), dump(), PRAGMA, named parameters, several
 * statements in one text, text that is not well-formed. Two differences are not refused: D1 forbids some of SQLite's
 * functions, such as sqlite_version(), and reports the offset of an error in a statement.
 */
export class SimulatedD1 {
  readonly #database: Database;
  readonly #carry: Carry;

  constructor(database: Database, carry: Carry = carryAtOnce) {
    this.#database = database;
    this.#carry = carry;
  }

  prepare(sql: string): SimulatedStatement {
    return new SimulatedStatement((statements, call) => this.#send(statements, call), sql);
  }

  async batch(statements: SimulatedStatement[]): Promise<D1Result[]> {
    return (await this.#send(statements, "batch")).map(resultOf);
  }

  #send(statements: SimulatedStatement[], call: string): Promise<Given[]> {
    return this.#carry(call, () => {
      if (statements.length === 0) throw failure("D1_ERROR", "No SQL statements detected.");
      try {
        return this.#database.transaction(statements);
      } catch (error) {
        throw failure("D1_ERROR", describe(error));
      }
    });
  }
}

type Send = (statements: SimulatedStatement[], call: string) => Promise<Given[]>;

interface D1Result {
  success: true;
  meta: { changes: number; last_row_id: number; duration: number; size_after: number };
  results: Record<string, unknown>[];
}

class SimulatedStatement {
  readonly #send: Send;
  readonly sql: string;
  readonly values: readonly Bound[];

  constructor(send: Send, sql: string, values: readonly Bound[] = []) {
    this.#send = send;
    this.sql = sql;
    this.values = values;
  }

  bind(...values: unknown[]): SimulatedStatement {
    return new SimulatedStatement(this.#send, this.sql, values.map(bindable));
  }

  async all(): Promise<D1Result> {
    return resultOf(await this.#sendAlone("all"));
  }

  async run(): Promise<D1Result> {
    return resultOf(await this.#sendAlone("run"));
  }

  async first(column?: string): Promise<unknown> {
    const [row] = resultOf(await this.#sendAlone("first")).results;
    if (row === undefined) return null;
    if (column === undefined) return row;
    const value = row[column];
    if (value === undefined) {
      const what = "Column not found";
      throw new Error(`D1_COLUMN_NOTFOUND: ${what} (${column})`, { cause: new Error(what) });
    }
    return value;
  }

  async raw(options?: { columnNames?: boolean }): Promise<unknown[][]> {
    const { columns, rows } = await this.#sendAlone("raw");
    const values = rows.map((row) => row.map(readable));
    return options?.columnNames === true ? [columns, ...values] : values;
  }

  async #sendAlone(call: string): Promise<Given> {
    const [given] = await this.#send([this], call);
    return given as Given;
  }
}

/** A bound value as it arrives: it travels as JSON. */
function bindable(value: unknown): Bound {
  if (value === null) return null;
  if (typeof value === "string") {
    // A lone surrogate: D1 stores three bytes that are not valid UTF-8; node:sqlite stores U+FFFD.
    if (!value.isWellFormed()) throw notSimulated("text that is not well-formed");
    return value;
  }
  if (typeof value === "number") return Number.isFinite(value) ? value + 0 : null;
  if (typeof value === "boolean") return value ? 1 : 0;
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (value instanceof Uint8Array) return value;
  if (Array.isArray(value) && value.every((byte) => typeof byte === "number" && byte >= 0 && byte < 256)) {
    return Uint8Array.from(value);
  }
  if (ArrayBuffer.isView(value)) throw notSimulated("a view of anything but bytes");
  throw failure("D1_TYPE_ERROR", `Type '${typeof value}' not supported for value '${String(value)}'`);
}

/** A value that is read, as it arrives: it travels as JSON. */
function readable(value: Cell): unknown {
  if (typeof value === "bigint") return Number(value);
  if (typeof value === "number") return Number.isFinite(value) ? value + 0 : null;
  return value instanceof Uint8Array ? Array.from(value) : value;
}

function resultOf({ columns, rows, changes, lastRowId, size }: Given): D1Result {
  const results = rows.map((row) => Object.fromEntries(row.map((cell, i) => [columns[i], readable(cell)])));
  return { success: true, meta: { changes, last_row_id: lastRowId, duration: 0, size_after: size }, results };
}

/** An error in the form of D1's client: with a prefix, and with the original error as its cause. */
const failure = (prefix: string, what: string) => new Error(`${prefix}: ${what}`, { cause: new Error(what) });

/** SQLite's message with the name of its code. An error that D1 raises without SQLite has no code. */
function describe(error: unknown): string {
  const { message, errcode } = error as Error & { errcode?: number };
  if (errcode === undefined) return message;
  const extended = errcode > 255 ? ` (extended: ${CODES[errcode] ?? errcode})` : "";
  return `${message}: ${CODES[errcode & 255] ?? errcode}${extended}`;
}
