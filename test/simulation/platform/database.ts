import { DatabaseSync, type DatabaseSyncOptions, type StatementSync } from "node:sqlite";
import { refuseIf } from "../not-simulated.ts";

export type Bound = string | number | null;

/** A value as SQLite returns it: every integer is a bigint. */
export type Cell = string | number | bigint | null | Uint8Array;

/** A row before and after a change, by the names of the columns; null where it does not exist. */
export interface RowChange {
  table: string;
  before: Row | null;
  after: Row | null;
}

export type Row = Record<string, string | number | null>;

/** The result of one statement. */
export interface StatementResult {
  columns: string[];
  rows: Cell[][];
  /** Rows that it inserted, updated or deleted, including those of triggers and foreign keys. */
  changes: number;
  lastRowId: number;
  /** Bytes of the database after the transaction. */
  size: number;
}

interface Compiled {
  statement: StatementSync;
  columns: string[];
  parameters: number;
}

/** The limits that workerd sets for D1. */
const LIMITS = {
  sqlLength: 100_000,
  column: 100,
  exprDepth: 100,
  compoundSelect: 5,
  vdbeOp: 25_000,
  functionArg: 127,
  attach: 0,
  likePatternLength: 50,
  variableNumber: 100,
  triggerDepth: 10,
};

/** The features of node:sqlite that its types lack, such as `limits`. */
interface Sqlite extends DatabaseSync {
  serialize(): Uint8Array;
  deserialize(bytes: Uint8Array): void;
}

const OPTIONS = { limits: LIMITS, enableDoubleQuotedStringLiterals: true } as DatabaseSyncOptions;

const open = () => new DatabaseSync(":memory:", OPTIONS) as Sqlite;

/** One SQLite database in memory, in the way of D1: foreign keys on, D1's limits, and each call in one transaction. */
export class Database {
  #sqlite = open();
  /** The compiled statements of callers, by their SQL. A new map replaces it when columns may have changed. */
  #statements = new Map<string, Compiled>();
  /** The compiled statements of this class itself. */
  #ownStatements = new Map<string, StatementSync>();
  #watchedTables: string[] = [];
  /** Called right after each commit of a transaction that changed a watched table, with its changes in their order. */
  onCommit: (changes: RowChange[]) => void = () => {};

  /** Runs several statements in one transaction, as migrations need. */
  execute(sql: string): void {
    this.#inTransaction(() => this.#sqlite.exec(sql));
    this.#statements = new Map();
  }

  /**
   * From now on {@link onCommit} also gets the changes of these tables, which must not contain blobs. Triggers record
   * them. That affects neither changes() nor RETURNING. After a broken foreign key, last_insert_rowid() is not D1's until
   * the next insert; src/ reads it in the batch of its insert.
   */
  watch(tables: readonly string[]): void {
    if (this.#watchedTables.length === 0 && tables.length > 0) {
      this.#sqlite.exec("CREATE TEMP TABLE seen (name TEXT, old TEXT, new TEXT)");
      // Needed for REPLACE: otherwise no trigger runs for the row that it removes.
      this.#sqlite.exec("PRAGMA recursive_triggers = ON");
    }
    this.#watchedTables.push(...tables);
    for (const table of tables) {
      const columns = this.#sqlite.prepare(`PRAGMA table_info(${table})`).all() as { name: string }[];
      const json = (side: "old" | "new") =>
        `json_object(${columns.map(({ name }) => `'${name}', ${side}.${name}`).join(", ")})`;
      for (const [event, old, now] of [
        ["INSERT", "NULL", json("new")],
        ["UPDATE", json("old"), json("new")],
        ["DELETE", json("old"), "NULL"],
      ] as const) {
        this.#sqlite.exec(`CREATE TEMP TRIGGER seen_${table}_${event} AFTER ${event} ON ${table} BEGIN
          INSERT INTO seen VALUES ('${table}', ${old}, ${now}); END`);
      }
    }
  }

  /** Runs statements in one transaction. @throws SQLite's error; then nothing is changed */
  transaction(statements: readonly { sql: string; values: readonly Bound[] }[]): StatementResult[] {
    return this.#inTransaction(() => {
      let [before] = this.#counters();
      const results = statements.map(({ sql, values }) => {
        const { statement, columns, parameters } = this.#compile(sql);
        if (values.length !== parameters) throw new Error("Wrong number of parameter bindings for SQL query.");
        const rows = statement.all(...values) as unknown as Cell[][];
        const [after, lastRowId] = this.#counters();
        const changes = after - before;
        before = after;
        return { columns, rows, changes, lastRowId };
      });
      const size = this.#size();
      return results.map((each) => ({ ...each, size }));
    });
  }

  /** The names of all tables except SQLite's own, which take no triggers. */
  tables(): string[] {
    const sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'";
    const rows = this.#sqlite.prepare(sql).all() as { name: string }[];
    return rows.map(({ name }) => name);
  }

  rows(table: string): Row[] {
    return this.#sqlite.prepare(`SELECT * FROM ${table}`).all() as Row[];
  }

  /** A copy of everything, for {@link restore}. */
  snapshot(): Uint8Array {
    return this.#sqlite.serialize();
  }

  /** Restores a snapshot, as D1's Time Travel does. Single rows are not reported. */
  restore(snapshot: Uint8Array): void {
    const tables = this.#watchedTables;
    this.close();
    this.#sqlite = open();
    this.#sqlite.deserialize(snapshot);
    this.#statements = new Map();
    this.#ownStatements = new Map();
    this.#watchedTables = [];
    this.watch(tables);
  }

  close(): void {
    this.#sqlite.close();
  }

  #inTransaction<T>(run: () => T): T {
    this.#ownStatement("BEGIN").run();
    let result: T;
    try {
      result = run();
      this.#ownStatement("COMMIT").run();
    } catch (error) {
      if (this.#sqlite.isTransaction) this.#ownStatement("ROLLBACK").run();
      throw error;
    }
    this.#tell();
    return result;
  }

  /** The number of rows changed since the start, without those of the watch, and the last rowid. */
  #counters(): [changed: number, lastRowId: number] {
    const ownChanges = this.#watchedTables.length === 0 ? "0" : "(SELECT coalesce(max(rowid), 0) FROM temp.seen)";
    const counters = this.#ownStatement(`SELECT total_changes() - ${ownChanges}, last_insert_rowid()`);
    const [changes, lastRowId] = counters.get() as unknown as [bigint, bigint];
    return [Number(changes), Number(lastRowId)];
  }

  /** Bytes of all pages. */
  #size(): number {
    const pages = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
    return Number((this.#ownStatement(pages).get() as unknown as [bigint])[0]);
  }

  #compile(sql: string): Compiled {
    let entry = this.#statements.get(sql);
    if (entry === undefined) {
      const parameters = countParameters(sql);
      const statement = this.#prepare(sql);
      refuseIf(/\S/.test(sql.slice(statement.sourceSQL.length)), "several statements in one text");
      entry = { statement, columns: statement.columns().map(({ name }) => name), parameters };
      this.#statements.set(sql, entry);
    }
    return entry;
  }

  #ownStatement(sql: string): StatementSync {
    let statement = this.#ownStatements.get(sql);
    if (statement === undefined) {
      statement = this.#prepare(sql);
      this.#ownStatements.set(sql, statement);
    }
    return statement;
  }

  #prepare(sql: string): StatementSync {
    const statement = this.#sqlite.prepare(sql);
    statement.setReturnArrays(true);
    statement.setReadBigInts(true);
    return statement;
  }

  #tell(): void {
    if (this.#watchedTables.length === 0) return;
    const rows = this.#ownStatement("SELECT name, old, new FROM temp.seen ORDER BY rowid").all() as unknown as [
      table: string,
      before: string | null,
      after: string | null,
    ][];
    if (rows.length === 0) return;
    this.#ownStatement("DELETE FROM temp.seen").run();
    const rowOf = (json: string | null) => (json === null ? null : (JSON.parse(json) as Row));
    this.onCommit(rows.map(([table, before, after]) => ({ table, before: rowOf(before), after: rowOf(after) })));
  }
}

/** The statements that src/ sends: they read and write rows. */
const OF_ROWS = /^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b/i;
/** Matches string literals, quoted names and comments. */
const QUOTED = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--.*|\/\*[\s\S]*?\*\//g;

/** The number of bound values that a statement needs. node:sqlite cannot report it. */
function countParameters(sql: string): number {
  const code = sql.replace(QUOTED, " ");
  refuseIf(!OF_ROWS.test(code), `the statement ${sql.slice(0, 100)}`);
  refuseIf(/[:@$]\w/.test(code), "named parameters");
  const numbers = [...code.matchAll(/\?(\d*)/g)].map(([, number]) => number);
  const isNumbered = numbers.some((number) => number !== "");
  refuseIf(isNumbered && numbers.includes(""), "numbered parameters beside others");
  return isNumbered ? Math.max(...numbers.map(Number)) : numbers.length;
}
