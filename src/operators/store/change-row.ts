import { ServiceError } from "../../core/errors.ts";

/** How many times a change is tried, when other changes keep coming first. */
const ROUNDS = 3;

/** The result of one try. */
interface TriedChange<Row> {
  changed: boolean;
  /** The row after the try; undefined when there is none. */
  now: Row | undefined;
}

interface RowChange<Row> {
  read: () => Promise<Row | undefined>;
  /** One transaction. It changes the row only while the row has the revision of `before`, and gives it the next revision. */
  write: (before: Row) => Promise<TriedChange<Row>>;
  /** Whether a row that the try did not change needs no further try: it has all wanted values, or the change is not allowed. */
  isFinal: (now: Row, before: Row) => boolean;
  /** Runs the read or the write with retries. */
  retry: <T>(call: () => Promise<T>) => Promise<T>;
}

/**
 * Changes a row for an operator. The change applies to the row that was read, or not at all. So a late try, even one after the answer,
 * undoes no newer change. Every change gives the row a new revision, even a change that keeps the values: then no earlier try can commit
 * after it.
 *
 * @returns the row as it is now; undefined when there is none
 * @throws ServiceError `conflict`, reason `changed_meanwhile`: others changed the row, and this change may have been made before theirs; or
 *   others came first three times. Also whatever `read` and `write` throw
 */
export async function changeRow<Row>(change: RowChange<Row>): Promise<Row | undefined> {
  const { read, write, isFinal, retry } = change;
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
    if (changed || now === undefined || isFinal(now, row)) return now;
    if (isMade || unanswered > 0) throw changedMeanwhile();
    before = now;
  }
  if (before === undefined) return undefined;
  throw changedMeanwhile();
}

/** Whether a row has every wanted value. An undefined value may be anything. */
export const hasAll = <Row extends object>(
  row: Row,
  wantedValues: { [Name in keyof Row]?: Row[Name] | undefined },
): boolean =>
  Object.entries(wantedValues).every(
    ([name, value]) => value === undefined || JSON.stringify(value) === JSON.stringify(row[name as keyof Row]),
  );

/** The refusal of a change that met another operator's change. */
export const changedMeanwhile = (): ServiceError =>
  new ServiceError("conflict", {
    reason: "changed_meanwhile",
    detail:
      "Another operator changed it while this call was tried again: look at it, and send the change again if it is still wanted.",
  });
