import { type AppRecord, findApp } from "../credentials/find-app.ts";
import { openSecrets } from "../credentials/open-secrets.ts";
import { diagnoseSignature, type SignatureDiagnosis } from "../diagnosis/diagnose-signature.ts";
import { ServiceError } from "../errors.ts";
import { MAIN_HOME } from "../homes.ts";
import { OPERATIONS } from "../operations/index.ts";
import type { Operation } from "../operations/operation.ts";
import type { Result } from "../result.ts";
import { checkRequest, type Report } from "../signed/check-request.ts";
import { type Fields, readFields } from "../signed/read-fields.ts";
import { selectRoute } from "../store/directory/app-routes.ts";
import { selectHomeSite } from "../store/home/sites.ts";
import { askHomes } from "./ask-homes.ts";
import { keyringOf, type ServiceContext } from "./service-context.ts";

export type { BodyVariant, Rewriting } from "../diagnosis/body-variants.ts";
export type { SignatureDiagnosis, SignatureMatch } from "../diagnosis/diagnose-signature.ts";
export type { SignatureFault } from "../diagnosis/read-signature.ts";
export { describeLeftOut } from "../operations/describe-left-out.ts";
export { OPERATIONS } from "../operations/index.ts";

/** A request as an operator pasted it. */
export interface PastedRequest {
  operation: Operation;
  appid: string;
  body: string;
  signature: string;
}

/** The findings about a pasted request. */
export interface CheckedRequest {
  fields: Result<Fields>;
  /** The appid that was looked up: that of the body, else the pasted one. Empty when both are missing. */
  appid: string;
  /** Undefined when the appid is unknown, or its home does not answer. */
  app?: { siteId: number; revokedAt: number | null };
  /** Why every call of the app's site is answered 503 now. */
  stopped?: { by: "home_closed" | "home_down" | "site_closed"; home: string };
  signature?: SignatureDiagnosis;
  report?: Report;
  /** Another operation, which has more of the fields than the chosen one. */
  looksLike?: Operation | undefined;
}

/**
 * Finds what the service would answer to a request, and why. Writes nothing.
 *
 * @throws UnsealError when MASTER_KEY does not open the app's secrets; ServiceError `unavailable` when the directory does not answer;
 *   what D1 throws
 */
export async function checkPastedRequest(ctx: ServiceContext, pasted: PastedRequest): Promise<CheckedRequest> {
  const { operation } = pasted;
  const fields = readFields(bytesOf(pasted.body), operation.digitsOf);
  const appid = fields.ok ? fields.value.appid : pasted.appid.trim();
  const looksLike = fields.ok ? otherOperation(operation, fields.value) : undefined;
  const checked: CheckedRequest = { fields, appid, looksLike };
  const found = appid === "" ? undefined : await findAppAndSite(ctx, appid);
  if (found?.stopped !== undefined) checked.stopped = found.stopped;
  if (!found?.app) return checked;
  const { app } = found;
  const keyring = await keyringOf(ctx);
  const secrets = await openSecrets(keyring, app);
  const order = ["appid", "timestamp", "ranstr", ...OPERATIONS.flatMap(({ fieldNames }) => fieldNames)];
  const signature = await diagnoseSignature(pasted, secrets, order, ctx.now);
  // A browser's form turns every line end into CRLF. So the variant that fits the signature is checked, not the pasted text.
  const body = bytesOf(signature.exact && signature.match ? signature.match.body.text : pasted.body);
  const report = await checkRequest(ctx, keyring, operation, { app, body, signature: pasted.signature.trim() });
  return { ...checked, app: { siteId: app.siteId, revokedAt: app.revokedAt }, signature, report };
}

/** The app of an appid: null when its home does not have it or does not answer, undefined when no site has the appid. */
async function findAppAndSite(
  ctx: ServiceContext,
  appid: string,
): Promise<{ app: AppRecord | null; stopped?: CheckedRequest["stopped"] } | undefined> {
  const { runtime, config } = ctx;
  const route = await selectRoute(runtime, config.directory, appid);
  if (route === undefined) return undefined;
  const { home, siteId } = route;
  const ask = (db: D1Database) => Promise.all([findApp(runtime, config, appid), selectHomeSite(db, siteId)]);
  const { answers } = await askHomes(
    ctx,
    ask,
    [...config.homes].filter(([name]) => name === home),
  );
  const [app = null, site] = answers.get(home) ?? [];
  if (config.closedHomes.has(home)) return { app, stopped: { by: "home_closed", home } };
  if (!answers.has(home)) {
    if (home === MAIN_HOME) throw new ServiceError("unavailable", { reason: "d1_unavailable", retryAfter: 1 });
    return { app, stopped: { by: "home_down", home } };
  }
  return site?.status === "closed" ? { app, stopped: { by: "site_closed", home } } : { app };
}

const bytesOf = (text: string): ArrayBuffer => Uint8Array.from(new TextEncoder().encode(text)).buffer;

/** Another operation, when it has more of the fields than the chosen one. */
function otherOperation(chosen: Operation, fields: Fields): Operation | undefined {
  const known = ({ fieldNames }: Operation) => fieldNames.filter((name) => Object.hasOwn(fields, name)).length;
  const [best] = OPERATIONS.toSorted((a, b) => known(b) - known(a));
  return best !== undefined && best !== chosen && known(best) > known(chosen) ? best : undefined;
}
