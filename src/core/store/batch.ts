/** A compiled statement with its values. It gives its rows as D1 does. */
export type BoundStatement<Row = unknown> = D1PreparedStatement & { readonly row?: Row };

type DrizzleQuery = { readonly _: { readonly dialect: "sqlite"; readonly result: unknown } };

type WrittenStatement = DrizzleQuery | BoundStatement | undefined;

/** Statements by name, in their order. Undefined statements are left out. */
type NamedStatements = { readonly [name: string]: WrittenStatement };

/** The statements of a batch by name, in their order. Under a name there may also be a list, or further names. */
export type Batch = {
  readonly [name: string]: WrittenStatement | readonly (WrittenStatement | NamedStatements)[] | NamedStatements;
};

/** The rows of each statement, under its name. A query of drizzle that reads nothing gives D1's result, with `meta.changes`. */
export type Results<T> = T extends DrizzleQuery
  ? T["_"]["result"]
  : T extends D1PreparedStatement
    ? (T extends { readonly row?: infer Row } ? Row : unknown)[]
    : T extends undefined
      ? undefined
      : { [Name in keyof T]: Results<T[Name]> };

/** The number of D1's results differs from the number of statements, so it is unknown what was done. */
export class IncompleteAnswer extends Error {
  override readonly name = "IncompleteAnswer";
}

/** The methods of a query that drizzle's own batch() calls. `_prepare` is internal to drizzle: a test fails when a version drops it. */
interface PreparedQuery {
  getQuery(): { sql: string; params: unknown[] };
  mapResult(result: unknown, isFromBatch: true): unknown;
}

type ReadResults = (results: D1Result[]) => unknown;

/**
 * Runs statements in one transaction and one round trip: drizzle's queries and compiled statements together.
 *
 * @throws any error of D1; {@link IncompleteAnswer}
 */
export async function inOneBatch<const T extends Batch>(db: D1Database, statements: T): Promise<Results<T>> {
  const bound: D1PreparedStatement[] = [];
  const readResults = bindAll(db, statements, bound);
  const results: unknown = await db.batch(bound);
  if (!Array.isArray(results) || results.length !== bound.length) throw new IncompleteAnswer("an answer is missing");
  return readResults(results) as Results<T>;
}

/** Puts the statements of a part at the end of `bound`. @returns a function that finds their rows among the results */
function bindAll(db: D1Database, part: Batch[string] | Batch, bound: D1PreparedStatement[]): ReadResults {
  if (part === undefined) return () => undefined;
  if ("_prepare" in part) {
    const prepared = (part as unknown as { _prepare(): PreparedQuery })._prepare();
    const { sql, params } = prepared.getQuery();
    const place = bound.push(db.prepare(sql).bind(...params)) - 1;
    return (results) => prepared.mapResult(results[place], true);
  }
  if ("bind" in part) {
    const place = bound.push(part as BoundStatement) - 1;
    return (results) => results[place]?.results ?? [];
  }
  const parts = Object.entries(part as Batch).map(([name, each]) => [name, bindAll(db, each, bound)] as const);
  if (Array.isArray(part)) return (results) => parts.map(([, readPart]) => readPart(results));
  return (results) => Object.fromEntries(parts.map(([name, readPart]) => [name, readPart(results)]));
}
