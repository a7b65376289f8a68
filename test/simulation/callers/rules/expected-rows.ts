import { isDeepStrictEqual } from "node:util";
import type { App, HomeModel } from "../../checker/home-model.ts";
import { eventRows } from "../../deliveries/rules/expected-event.ts";
import { KEY_SECONDS, NONCE_SECONDS } from "../../erasure/rules/periods.ts";
import type { ExpectedRow } from "../../operations/shared/model.ts";
import type { Row, RowChange } from "../../platform/database.ts";
import type { SignedCall } from "./signatures.ts";
import type { WritingVerdict } from "./verdicts.ts";

/** All rows that a request with this verdict writes. The expected event is made from the rows in `changes`. */
export function expectedRows(
  home: HomeModel,
  app: App,
  { call, reading }: SignedCall,
  verdict: WritingVerdict,
  changes: readonly RowChange[],
): ExpectedRow[] {
  const { clock } = call;
  const { siteId: site_id, appid } = app;
  const { operation, operationInput, ranstr, key } = reading;
  const session_id = verdict.kind === "refused" ? null : verdict.sessionId;
  const claim = { site_id, appid, operation: operation.name, session_id };
  const rows: ExpectedRow[] = [{ table: "nonces", after: { ...claim, ranstr, expires_at: clock + NONCE_SECONDS } }];
  if (verdict.kind !== "accepted") return rows;
  const moment = { home, app, clock };
  rows.push(...operation.rows(moment, operationInput, verdict));
  const writtenRows = changes.flatMap(({ table, after }) => (after === null ? [] : [{ table, after }]));
  const data = { appid, ...operation.event.data(moment, operationInput, writtenRows) };
  const { type } = operation.event;
  rows.push(...eventRows(home, { siteId: site_id, sessionId: verdict.sessionId, clock, type, data }));
  if (key !== null) {
    rows.push({ table: "idempotency_keys", after: { ...claim, key, expires_at: clock + KEY_SECONDS } });
  }
  return rows;
}

/** How the written rows differ from the expected ones; undefined when they are equal. */
export function difference(changes: readonly RowChange[], expected: readonly ExpectedRow[]): string | undefined {
  const missingRows = [...expected];
  for (const change of changes) {
    const fits = missingRows.findIndex(({ table, after, json }) => {
      const isInserted = (table !== "events" && table !== "deliveries") || change.before === null;
      return table === change.table && isInserted && includes(change.after, after) && holdsJson(change.after, json);
    });
    if (fits < 0) {
      const near = missingRows.find(({ table }) => table === change.table);
      return `wrote ${JSON.stringify(change)}${near === undefined ? "" : `, expected ${JSON.stringify(near)}`}`;
    }
    missingRows.splice(fits, 1);
  }
  return missingRows.length === 0 ? undefined : `did not write ${JSON.stringify(missingRows[0])}`;
}

const includes = (row: Row | null, part: Row): boolean =>
  row !== null && Object.entries(part).every(([column, value]) => row[column] === value);

const holdsJson = (row: Row | null, json: object | undefined): boolean =>
  json === undefined || isDeepStrictEqual(JSON.parse(String(row?.data)), json);
