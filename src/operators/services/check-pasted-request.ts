import { homeDatabase } from "../../core/config.ts";
import { type AppRecord, findApp } from "../../core/credentials/find-app.ts";
import { openSecrets } from "../../core/credentials/open-secrets.ts";
import { type Keyring, UnsealError } from "../../core/credentials/sealed-secret.ts";
import { ServiceError } from "../../core/errors.ts";
import { MAIN_HOME } from "../../core/homes.ts";
import { OPERATIONS } from "../../core/operations/index.ts";
import type { Operation } from "../../core/operations/operation.ts";
import type { Result } from "../../core/result.ts";
import { checkRequest, type Report } from "../../core/signed/check-request.ts";
import { type Fields, readFields } from "../../core/signed/read-fields.ts";
import { selectRoute } from "../../core/store/app-routes.ts";
import { databaseFault } from "../../core/store/run-batch.ts";
import { type CheckStep, checkForm, checkIdempotencyKey } from "../diagnosis/check-form.ts";
import { diagnoseSignature, type SignatureDiagnosis, type TriedSecret } from "../diagnosis/diagnose-signature.ts";
import { asHeader } from "../diagnosis/encodings.ts";
import { selectLastChange } from "../store/audit.ts";
import { selectFirstApps } from "../store/home/apps.ts";
import { probeHome } from "../store/home/probe.ts";
import { selectHomeSite } from "../store/home/sites.ts";
import { askHomes } from "./ask-homes.ts";
import type { HomeTrouble } from "./health.ts";
import { keyringOf, type ServiceContext, seesSite } from "./service-context.ts";
import { findSimilarApps, type SimilarApp } from "./similar-apps.ts";

export { OPERATIONS } from "../../core/operations/index.ts";
export type { BodyVariant, Rewriting } from "../diagnosis/body-variants.ts";
export type { CheckStep } from "../diagnosis/check-form.ts";
export { checkTimestamp } from "../diagnosis/check-timestamp.ts";
export { lineEndsOf, type SignatureDiagnosis, type SignatureMatch } from "../diagnosis/diagnose-signature.ts";
export { asHeader } from "../diagnosis/encodings.ts";
export type { SignatureMistake } from "../diagnosis/read-signature.ts";
export { sentenceOf } from "../diagnosis/words.ts";
export type { AppidPart, SimilarApp } from "./similar-apps.ts";

/** A request as an operator pasted it. */
export interface PastedRequest {
  operation: Operation;
  appid: string;
  body: string;
  signature: string;
  /** The other headers. Undefined for one that the operator does not know, null for a Content-Type that was not sent. */
  contentType?: string | null | undefined;
  contentEncoding?: string | undefined;
  idempotencyKey?: string | undefined;
}

/** The findings about a pasted request. */
export interface CheckedRequest {
  /** What the server says of the headers and the body before it looks for the app. */
  form: CheckStep[];
  /** What the server says of the form of the Idempotency-Key. */
  key: CheckStep;
  fields: Result<Fields>;
  /** The appid that was looked up: the body's, or the pasted one when the body has none. Empty when both are missing. */
  appid: string;
  /** Undefined when the appid is unknown, or its home cannot be read. */
  app?: { siteId: number; siteName: string; revokedAt: number | null };
  /** The apps that an unknown appid may mean, the likeliest first. */
  similar?: SimilarApp[];
  /** Why every call of the app's site is answered 503 now. */
  stopped?: { by: HomeTrouble | "site_closed"; home: string };
  /** Undefined when MASTER_KEY does not open the app's secrets. */
  signature?: SignatureDiagnosis;
  /** The other app of the site whose secret makes the signature. */
  otherApp?: { appid: string; name: string } | undefined;
  /**
   * When the app's secret was last changed, in Unix seconds. Set when no known secret makes the signature: then the sender may have the
   * secret before.
   */
  rotatedAt?: number;
  report?: Report;
  /** Another operation, which has more of the fields than the chosen one. */
  looksLike?: Operation | undefined;
}

/**
 * Finds what the service would answer to a request, and why. Writes nothing.
 *
 * @throws ServiceError `unavailable` when the directory does not answer; what D1 throws
 */
export async function checkPastedRequest(ctx: ServiceContext, pasted: PastedRequest): Promise<CheckedRequest> {
  const { operation, contentType, contentEncoding, idempotencyKey } = pasted;
  const { exactField } = operation;
  const bytes = bytesOf(pasted.body);
  const { steps: form } = checkForm({ body: new Uint8Array(bytes), contentType, contentEncoding, exactField });
  const key = checkIdempotencyKey(idempotencyKey);
  const fields = readFields(bytes, exactField);
  const appid = fields.ok ? fields.value.appid : pasted.appid.trim();
  const looksLike = fields.ok ? otherOperation(operation, fields.value) : undefined;
  const checked: CheckedRequest = { form, key, fields, appid, looksLike };
  const appAndSite = appid === "" ? undefined : await findAppAndSite(ctx, appid);
  const diagnose = (secrets: readonly TriedSecret[]) =>
    diagnoseSignature({ ...pasted, appid }, secrets, FIELD_ORDER, ctx.now);
  if (appAndSite === undefined) {
    const signs = async (secrets: readonly TriedSecret[]) => (await diagnose(secrets)).match !== undefined;
    if (appid === "") return checked;
    const guess = pasted.appid.trim();
    return { ...checked, similar: await findSimilarApps(ctx, { appid, guess: guess === appid ? "" : guess }, signs) };
  }
  if (appAndSite.stopped !== undefined) checked.stopped = appAndSite.stopped;
  const { app, siteName } = appAndSite;
  if (!app) return checked;
  const { siteId, revokedAt } = app;
  checked.app = { siteId, siteName, revokedAt };
  const keyring = await keyringOf(ctx);
  const ownSecrets = await secretsOf(keyring, app);
  if (ownSecrets === undefined) return checked;
  let signature = await diagnose(ownSecrets);
  if (signature.match === undefined && signature.signature.bytes !== undefined) {
    const othersOfSite = await otherApps(ctx, app);
    const otherSecrets = othersOfSite.map(async (other) =>
      ((await secretsOf(keyring, other)) ?? []).map(
        (secret): TriedSecret => ({ ...secret, slot: "other_app", appid: other.appid }),
      ),
    );
    const otherDiagnosis = await diagnose((await Promise.all(otherSecrets)).flat());
    if (otherDiagnosis.match !== undefined) {
      signature = otherDiagnosis;
      checked.otherApp = othersOfSite.find(({ appid }) => appid === otherDiagnosis.match?.appid);
    } else if (signature.instead === undefined) Object.assign(checked, await lastRotation(ctx, app));
  }
  // A browser's form turns every line end into CRLF. So the variant that fits the signature is checked, not the pasted text.
  const body = bytesOf(signature.exact && signature.match ? signature.match.body.text : pasted.body);
  const signed = { app, body, signature: asHeader(pasted.signature), idempotencyKey };
  const report = await checkRequest(ctx, keyring, operation, signed);
  return { ...checked, signature, report };
}

const FIELD_ORDER = ["appid", "timestamp", "ranstr", ...OPERATIONS.flatMap(({ fieldNames }) => fieldNames)];

/** How many other apps of a site are tried, in the order of their appids. */
const MOST_OTHER_APPS = 50;

async function otherApps({ config }: ServiceContext, { siteId, appid, home }: AppRecord) {
  const apps = await selectFirstApps(homeDatabase(config, home), siteId, MOST_OTHER_APPS + 1);
  const otherAppsOfSite = apps.filter((app) => app.appid !== appid).slice(0, MOST_OTHER_APPS);
  return otherAppsOfSite.map((app) => ({ ...app, home }));
}

/** The secrets of an app; undefined when MASTER_KEY does not open them. */
const secretsOf = (keyring: Keyring, app: AppRecord) =>
  openSecrets(keyring, app).catch((error: unknown) => {
    if (!(error instanceof UnsealError)) throw error;
    return undefined;
  });

async function lastRotation({ config }: ServiceContext, { siteId, appid, home }: AppRecord) {
  const changes = { siteId, subject: appid, actions: ["app.rotated" as const, "app.overlap_ended" as const] };
  const rotatedAt = await selectLastChange(homeDatabase(config, home), changes);
  return rotatedAt === null ? {} : { rotatedAt };
}

/** The app of an appid: null when its home does not have it or does not answer, undefined when no site has the appid. */
async function findAppAndSite(
  ctx: ServiceContext,
  appid: string,
): Promise<{ app: AppRecord | null; siteName: string; stopped?: CheckedRequest["stopped"] } | undefined> {
  const { runtime, config } = ctx;
  const route = await selectRoute(runtime, config.directory, appid);
  // To an operator of one site, an appid of another site is like one that no site has.
  if (route === undefined || !seesSite(ctx, route.siteId)) return undefined;
  const { home, siteId } = route;
  const ask = (db: D1Database) =>
    Promise.all([findApp(runtime, config, appid), selectHomeSite(db, siteId), probeHome(db)]).catch(
      (error: unknown) => {
        if (databaseFault(error)?.context.reason !== "d1_not_migrated") throw error;
        return "not migrated";
      },
    );
  const { answers } = await askHomes(
    ctx,
    ask,
    [...config.homes].filter(([name]) => name === home),
  );
  const answer = answers.get(home);
  const [app = null, site] = Array.isArray(answer) ? answer : [];
  const siteName = site?.name ?? String(siteId);
  const stoppedBy = (by: NonNullable<CheckedRequest["stopped"]>["by"]) => ({ app, siteName, stopped: { by, home } });
  if (config.closedHomes.has(home)) return stoppedBy("closed");
  if (answer === "not migrated") return stoppedBy("not_migrated");
  if (answer !== undefined) return site?.status === "closed" ? stoppedBy("site_closed") : { app, siteName };
  if (home === MAIN_HOME) throw new ServiceError("unavailable", { reason: "d1_unavailable", retryAfter: 1 });
  return stoppedBy(config.homes.has(home) ? "silent" : "unbound");
}

const bytesOf = (text: string): ArrayBuffer => Uint8Array.from(new TextEncoder().encode(text)).buffer;

/** Another operation, when it has more of the fields than the chosen one. */
function otherOperation(chosenOperation: Operation, fields: Fields): Operation | undefined {
  const countKnownFields = ({ fieldNames }: Operation) =>
    fieldNames.filter((name) => Object.hasOwn(fields, name)).length;
  const [best] = OPERATIONS.toSorted((a, b) => countKnownFields(b) - countKnownFields(a));
  return best !== undefined && best !== chosenOperation && countKnownFields(best) > countKnownFields(chosenOperation)
    ? best
    : undefined;
}
