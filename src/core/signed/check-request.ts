import type { Config } from "../config.ts";
import { homeDatabase } from "../config.ts";
import type { AppRecord } from "../credentials/find-app.ts";
import { openCredentials } from "../credentials/open-secrets.ts";
import type { Keyring } from "../credentials/sealed-secret.ts";
import type { Operation, OperationInput, Outcome, Preview, RanstrUse } from "../operations/operation.ts";
import type { Result } from "../result.ts";
import { type Runtime, unixSeconds } from "../runtime.ts";
import { inOneBatch } from "../store/batch.ts";
import { selectUse } from "../store/claim.ts";
import { type Authentication, authenticate } from "./authenticate.ts";
import { checkFreshness, type Freshness } from "./check-freshness.ts";
import { claimOf } from "./claim-of.ts";
import { readIdempotencyKey } from "./idempotency-key.ts";
import { type Fields, readFields } from "./read-fields.ts";

/** The result of each step. Undefined for a step that needs the value of a refused step. */
export interface Report {
  fields: Result<Fields>;
  authentication: Authentication;
  freshness?: Result<Freshness>;
  /** The earlier request that used the ranstr; null when there is none. */
  used?: RanstrUse | null;
  operationInput?: Result<OperationInput>;
  idempotencyKey: Result<string | null>;
  /** What the database would decide, if the app's credentials are in force. */
  outcome?: Outcome;
}

/**
 * Runs the read-only steps of a signed request and collects all results, also after a refusal. It uses up no nonce, counts for no limit
 * and caches nothing: test/operators/console/signature-check/signature-check.test.ts compares everything that is stored.
 *
 * @param app the app that the request names, as stored
 * @throws UnsealError when MASTER_KEY does not open the app's secrets; any error of D1
 */
export async function checkRequest(
  { runtime, config }: { runtime: Runtime; config: Config },
  keyring: Keyring,
  operation: Operation,
  {
    app,
    body,
    signature,
    ...headers
  }: { app: AppRecord; body: ArrayBuffer; signature: string; idempotencyKey: string | undefined },
): Promise<Report> {
  const now = unixSeconds(runtime);
  const fields = readFields(body, operation.exactField);
  const idempotencyKey = readIdempotencyKey(headers.idempotencyKey);
  const credentials = await openCredentials(keyring, app, now);
  const authentication = await authenticate({ credentials, source: "d1" }, { signature, body, now });
  if (!fields.ok) return { fields, authentication, idempotencyKey };
  const freshness = checkFreshness(fields.value, now, config.timestampToleranceSeconds);
  const operationInput = operation.read(fields.value);
  const report: Report = { fields, authentication, freshness, operationInput, idempotencyKey };
  if (!freshness.ok && freshness.code === "invalid_parameters") return report;
  const ranstr = String(fields.value.ranstr);
  const db = homeDatabase(config, app.home);
  if (!operationInput.ok) return { ...report, used: await findUse(db, app, ranstr, now) };
  // The preview skips the gate, so that the operation's refusals show even when the signature is wrong.
  const { appid, siteId, version: secretVersion, events } = app;
  const caller = { appid, siteId, secretVersion, events };
  const ready = {
    operationInput: operationInput.value,
    ranstr,
    idempotencyKey: idempotencyKey.ok ? idempotencyKey.value : null,
    clientNetwork: null,
  };
  // Nothing is claimed, so there is no owner.
  const claim = await claimOf(runtime, caller, ready, "", now);
  return { ...report, ...(await preview(db, operation, claim, operationInput.value)) };
}

async function preview(
  db: D1Database,
  operation: Operation,
  claim: Awaited<ReturnType<typeof claimOf>>,
  operationInput: OperationInput,
): Promise<Preview> {
  return operation.previewOf(await inOneBatch(db, operation.preview(db, claim, operationInput)));
}

async function findUse(
  db: D1Database,
  { siteId, appid }: AppRecord,
  ranstr: string,
  now: number,
): Promise<RanstrUse | null> {
  const row = await selectUse(db, { siteId, appid, ranstr, now }).first<{
    outcome: string;
    session_id: number | null;
  }>();
  return row && { outcome: row.outcome, sessionId: row.session_id, mayBeItself: false };
}
