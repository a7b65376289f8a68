import { type Config, homeDatabase } from "../config.ts";
import type { AppRecord } from "../credentials/find-app.ts";
import { openCredentials } from "../credentials/open-secrets.ts";
import type { Keyring } from "../credentials/sealed-secret.ts";
import type { Asked, Operation, Outcome, Preview, Use } from "../operations/operation.ts";
import type { Result } from "../result.ts";
import { type Runtime, unixSeconds } from "../runtime.ts";
import { selectUse } from "../store/home/claim.ts";
import { type Authentication, authenticate } from "./authenticate.ts";
import { checkFreshness, type Freshness } from "./check-freshness.ts";
import { claimOf } from "./claim-of.ts";
import { type Fields, readFields } from "./read-fields.ts";

/** The result of each step. A step is undefined when it needs the value of an earlier step that refused: it was not evaluated. */
export interface Report {
  fields: Result<Fields>;
  authentication: Authentication;
  freshness?: Result<Freshness>;
  /** The request that used the ranstr before; null when none did. */
  used?: Use | null;
  asked?: Result<Asked>;
  /** What the database would decide for an app that is good. */
  outcome?: Outcome;
}

/**
 * Runs the steps of a signed request that only look, and collects the result of each, also after a refusal. It uses up no nonce,
 * counts for no limit and caches nothing: test/http/console/signature-check/signature-check.test.ts compares all that is stored.
 *
 * @param app the app that the request names, as stored
 * @throws UnsealError when MASTER_KEY does not open the app's secrets; what D1 throws
 */
export async function checkRequest(
  { runtime, config }: { runtime: Runtime; config: Config },
  keyring: Keyring,
  operation: Operation,
  { app, body, signature }: { app: AppRecord; body: ArrayBuffer; signature: string },
): Promise<Report> {
  const now = unixSeconds(runtime);
  const fields = readFields(body, operation.digitsOf);
  const credentials = await openCredentials(keyring, app, now);
  const authentication = await authenticate({ credentials, source: "d1" }, { signature, body, now });
  if (!fields.ok) return { fields, authentication };
  const freshness = checkFreshness(fields.value, now, config.timestampToleranceSeconds);
  const asked = operation.read(fields.value);
  const report: Report = { fields, authentication, freshness, asked };
  if (!freshness.ok && freshness.code === "invalid_parameters") return report;
  const ranstr = String(fields.value.ranstr);
  const db = homeDatabase(config, app.home);
  if (!asked.ok) return { ...report, used: await findUse(db, app, ranstr, now) };
  // The preview does not ask whether the app is good, so that the later refusals show without a valid signature too.
  const { appid, siteId, version: secretVersion } = app;
  const caller = { appid, siteId, secretVersion };
  const ready = { asked: asked.value, ranstr, idempotencyKey: null };
  const claim = await claimOf(runtime, caller, ready, now);
  return { ...report, ...(await preview(db, operation, claim, asked.value)) };
}

async function preview(
  db: D1Database,
  operation: Operation,
  claim: Awaited<ReturnType<typeof claimOf>>,
  asked: Asked,
): Promise<Preview> {
  const results = await db.batch<unknown>(operation.preview(db, claim, asked));
  return operation.previewOf(results.map(({ results }) => results));
}

async function findUse(db: D1Database, { siteId, appid }: AppRecord, ranstr: string, now: number): Promise<Use | null> {
  const row = await selectUse(db, { siteId, appid, ranstr, now }).first<{
    outcome: string;
    session_id: number | null;
  }>();
  return row && { outcome: row.outcome, sessionId: row.session_id, mayBeItself: false };
}
