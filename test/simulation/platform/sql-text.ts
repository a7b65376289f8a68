import { notSimulated } from "../not-simulated.ts";

/** Checks that D1 makes on the text of a statement, before SQLite runs it. */

const BLANK = String.raw`(?:\s|--.*(?:\n|$)|/\*[\s\S]*?\*/)*`;
const statementThat = (begins: string) => new RegExp(`^${BLANK}(?:${begins})\\b`, "i");

const OF_TRANSACTIONS = statementThat("BEGIN|COMMIT|END|ROLLBACK|SAVEPOINT|RELEASE");
const FORBIDDEN = statementThat(String.raw`ATTACH|DETACH|CREATE\s+TEMP|CREATE\s+TEMPORARY`);
const PRAGMA = statementThat("PRAGMA");
const OF_SCHEMA = statementThat("CREATE|ALTER|DROP");

const NO_TRANSACTIONS =
  "To execute a transaction, please use the state.storage.transaction() or state.storage.transactionSync() APIs instead of the SQL BEGIN TRANSACTION or SAVEPOINT statements. The JavaScript API is safer because it will automatically roll back on exceptions, and because it interacts correctly with Durable Objects' automatic atomic write coalescing.";
const SQLITE_AUTH = 23;

/** @throws Error with D1's message for a refused text, or `not simulated: …` */
export function checkStatement(sql: string): void {
  if (!/\S/.test(sql)) throw new Error("No SQL statements detected.");
  if (OF_TRANSACTIONS.test(sql)) throw new Error(NO_TRANSACTIONS);
  if (FORBIDDEN.test(sql)) throw Object.assign(new Error("not authorized"), { errcode: SQLITE_AUTH });
  if (PRAGMA.test(sql)) throw notSimulated("PRAGMA");
}

/** Whether a statement may change tables or columns. */
export const changesSchema = (sql: string): boolean => OF_SCHEMA.test(sql);

/** Matches string literals, quoted names and comments. */
const QUOTED = /'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]|--.*|\/\*[\s\S]*?\*\//g;

/**
 * The number of values that a statement needs. A plain `?` gets the highest number before it plus one. node:sqlite
 * cannot report this number.
 */
export function countParameters(sql: string): number {
  const code = sql.replace(QUOTED, " ");
  if (/[:@$]\w/.test(code)) throw notSimulated("named parameters");
  let highest = 0;
  for (const [, number] of code.matchAll(/\?(\d*)/g)) {
    highest = Math.max(highest, number === "" ? highest + 1 : Number(number));
  }
  return highest;
}
