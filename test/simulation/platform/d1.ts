import { notSimulated, refuseIf, refuseOtherProperties, refuseOthers } from "../not-simulated.ts";
import type { Bound, Cell, Database, StatementResult } from "./database.ts";

/** Carries a call to the other end. It decides when and whether `work` runs there, and whether the answer arrives. */
export type CarryCall = <T>(call: string, work: () => T) => Promise<T>;

export const carryAtOnce: CarryCall = async (_, work) => work();

/** SQLite's result codes. The low byte of an extended code is the plain code. */
const CODES: Record<number, string> = {
  1: "SQLITE_ERROR",
  18: "SQLITE_TOOBIG",
  19: "SQLITE_CONSTRAINT",
  275: "SQLITE_CONSTRAINT_CHECK",
  787: "SQLITE_CONSTRAINT_FOREIGNKEY",
  1299: "SQLITE_CONSTRAINT_NOTNULL",
  1555: "SQLITE_CONSTRAINT_PRIMARYKEY",
  2067: "SQLITE_CONSTRAINT_UNIQUE",
};

/**
 * A D1 binding to a database. It refuses what src/ does not use. test/simulation/conformance runs one list of
 * statements on it and on the real D1. Two differences are not refused: D1 forbids some of SQLite's functions, such as
 * sqlite_version(), and reports the offset of an error in a statement.
 */
export class SimulatedD1 {
  readonly #database: Database;
  readonly #carry: CarryCall;

  constructor(database: Database, carry: CarryCall = carryAtOnce) {
    this.#database = database;
    this.#carry = carry;
  }

  prepare(sql: string): SimulatedStatement {
    return statementOf((statements, call) => this.#send(statements, call), sql);
  }

  async batch(statements: SimulatedStatement[]): Promise<D1Result[]> {
    refuseIf(statements.length === 0, "an empty batch");
    return (await this.#send(statements, "batch")).map(resultOf);
  }

  #send(statements: SimulatedStatement[], call: string): Promise<StatementResult[]> {
    return this.#carry(call, () => {
      try {
        return this.#database.transaction(statements);
      } catch (error) {
        throw failure(error as Error);
      }
    });
  }
}

type SendStatements = (statements: SimulatedStatement[], call: string) => Promise<StatementResult[]>;

interface D1Result {
  success: true;
  meta: { changes: number; last_row_id: number; size_after: number };
  results: Record<string, unknown>[];
}

const statementOf = (...args: ConstructorParameters<typeof SimulatedStatement>): SimulatedStatement =>
  refuseOtherProperties("a statement", new SimulatedStatement(...args));

class SimulatedStatement {
  readonly #send: SendStatements;
  readonly sql: string;
  readonly values: readonly Bound[];

  constructor(send: SendStatements, sql: string, values: readonly Bound[] = []) {
    this.#send = send;
    this.sql = sql;
    this.values = values;
  }

  bind(...values: unknown[]): SimulatedStatement {
    return statementOf(this.#send, this.sql, values.map(bindableValue));
  }

  async all(): Promise<D1Result> {
    return resultOf(await this.#sendAlone("all"));
  }

  async run(): Promise<D1Result> {
    return resultOf(await this.#sendAlone("run"));
  }

  async raw(others: object = {}): Promise<unknown[][]> {
    refuseOthers("raw()", others);
    return (await this.#sendAlone("raw")).rows.map((row) => row.map(readValue));
  }

  async #sendAlone(call: string): Promise<StatementResult> {
    const [result] = await this.#send([this], call);
    return result as StatementResult;
  }
}

/** A bound value as it arrives: it travels as JSON. */
function bindableValue(value: unknown): Bound {
  if (value === null || (typeof value === "string" && value.isWellFormed())) return value;
  if (typeof value === "number" && Number.isFinite(value)) return value + 0;
  if (typeof value === "boolean") return value ? 1 : 0;
  throw notSimulated(`a bound value: ${typeof value} ${value}`);
}

/** A value that is read, as it arrives: it travels as JSON. */
function readValue(value: Cell): string | number | null {
  if (value === null || typeof value === "string") return value;
  const number = value instanceof Uint8Array ? Number.NaN : Number(value) + 0;
  refuseIf(!Number.isFinite(number), `to read ${value}`);
  return number;
}

function resultOf({ columns, rows, changes, lastRowId, size }: StatementResult): D1Result {
  const results = rows.map((row) => Object.fromEntries(row.map((cell, i) => [columns[i], readValue(cell)])));
  return { success: true, meta: { changes, last_row_id: lastRowId, size_after: size }, results };
}

/** SQLite's error in the form of D1's client. An error that D1 raises without SQLite has no code. */
function failure(error: Error & { errcode?: number }): Error {
  const { message, errcode } = error;
  const [code, fullCode] = errcode === undefined ? [] : [CODES[errcode & 255], CODES[errcode]];
  if (errcode !== undefined && fullCode === undefined) return notSimulated(`SQLite's error ${errcode}: ${message}`);
  const what = [message, code].filter((part) => part !== undefined).join(": ");
  const whole = code === fullCode ? what : `${what} (extended: ${fullCode})`;
  return new Error(`D1_ERROR: ${whole}`, { cause: new Error(whole) });
}
