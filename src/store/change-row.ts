import { ServiceError } from "../errors.ts";

/** How often a change is begun again because another one came first. */
const ROUNDS = 3;

/** What a try found, or left. */
interface Tried<Row> {
  /** Whether this try changed the row. */
  changed: boolean;
  /** The row as it is after the try; undefined when there is none. */
  now: Row | undefined;
}

interface RowChange<Row> {
  read: () => Promise<Row | undefined>;
  /** One transaction, which changes the row only while it has the revision that was read, and gives it the next one. */
  write: (before: Row) => Promise<Tried<Row>>;
  /** Whether a row that the try did not change needs no other: it has all that is wanted, or may not be changed so. */
  isSettled: (now: Row, before: Row) => boolean;
  /** Makes the tries of one transaction. */
  retry: <T>(call: () => Promise<T>) => Promise<T>;
}

/**
 * Changes a row for an operator. The change is made over the row that was read, or not at all: a try that commits late, also after the
 * call was answered, undoes nothing that was changed meanwhile. Every change gives the row another revision, also one to the values
 * that it has, so that nothing sent before it commits after it.
 *
 * @returns the row as it is now; undefined when there is none
 * @throws ServiceError `conflict`, reason `changed_meanwhile`, when others changed the row and this change may have been made before
 *   them, or when they came first three times; what `read` and `write` throw
 */
export async function changeRow<Row>(change: RowChange<Row>): Promise<Row | undefined> {
  const { read, write, isSettled, retry } = change;
  let before: Row | undefined = await retry(read);
  for (let round = 0; round < ROUNDS && before !== undefined; round++) {
    const row = before;
    let unanswered = 0;
    let isMade = false;
    const { changed, now } = await retry(async () => {
      unanswered += 1;
      const tried = await write(row);
      unanswered -= 1;
      isMade ||= tried.changed;
      return tried;
    });
    if (changed || now === undefined || isSettled(now, row)) return now;
    if (isMade || unanswered > 0) throw changedMeanwhile();
    before = now;
  }
  if (before === undefined) return undefined;
  throw changedMeanwhile();
}

/** Whether a row has every value that is wanted; what is undefined is not asked for. */
export const hasAll = <Row extends object>(
  row: Row,
  wanted: { [Name in keyof Row]?: Row[Name] | undefined },
): boolean =>
  Object.entries(wanted).every(
    ([name, value]) => value === undefined || JSON.stringify(value) === JSON.stringify(row[name as keyof Row]),
  );

/** The refusal of a change that another one came between. */
export const changedMeanwhile = (): ServiceError =>
  new ServiceError("conflict", {
    reason: "changed_meanwhile",
    detail:
      "Another operator changed it while this call was tried again: look at it, and send the change again if it is still wanted.",
  });
