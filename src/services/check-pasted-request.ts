import { findApp } from "../credentials/find-app.ts";
import { openSecrets } from "../credentials/open-secrets.ts";
import { diagnoseSignature, type SignatureDiagnosis } from "../diagnosis/diagnose-signature.ts";
import { OPERATIONS } from "../operations/index.ts";
import type { Operation } from "../operations/operation.ts";
import { checkRequest, type Report } from "../pipeline/check-request.ts";
import { type Fields, readFields } from "../pipeline/read-fields.ts";
import type { Result } from "../result.ts";
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

/** What the check found out about a pasted request. */
export interface CheckedRequest {
  fields: Result<Fields>;
  /** The appid that was looked up: the body's, else the pasted one; empty when there is neither. */
  appid: string;
  /** Undefined for an unknown appid. */
  app?: { siteId: number; revokedAt: number | null };
  signature?: SignatureDiagnosis;
  report?: Report;
  /** The operation that the fields fit better than the chosen one. */
  looksLike?: Operation | undefined;
}

/**
 * Finds out what the service would answer to a request, and why. Changes nothing and stores nothing.
 *
 * @throws UnsealError when MASTER_KEY does not open the app's secrets; what D1 throws
 */
export async function checkPastedRequest(ctx: ServiceContext, pasted: PastedRequest): Promise<CheckedRequest> {
  const { runtime, config, now } = ctx;
  const { operation } = pasted;
  const fields = readFields(bytesOf(pasted.body), operation.digitsOf);
  const appid = fields.ok ? fields.value.appid : pasted.appid.trim();
  const looksLike = fields.ok ? otherOperation(operation, fields.value) : undefined;
  const checked: CheckedRequest = { fields, appid, looksLike };
  const app = appid === "" ? null : await findApp(runtime, config, appid);
  if (app === null) return checked;
  const keyring = await keyringOf(ctx);
  const secrets = await openSecrets(keyring, app);
  const order = ["appid", "timestamp", "ranstr", ...OPERATIONS.flatMap(({ fieldNames }) => fieldNames)];
  const signature = await diagnoseSignature(pasted, secrets, order, now);
  // A form turns every line end into CRLF, so the text that was signed is checked instead of the pasted one.
  const body = bytesOf(signature.exact && signature.match ? signature.match.body.text : pasted.body);
  const report = await checkRequest(ctx, keyring, operation, { app, body, signature: pasted.signature.trim() });
  return { ...checked, app: { siteId: app.siteId, revokedAt: app.revokedAt }, signature, report };
}

const bytesOf = (text: string): ArrayBuffer => Uint8Array.from(new TextEncoder().encode(text)).buffer;

/** Another operation, if more of the fields belong to it than to the chosen one. */
function otherOperation(chosen: Operation, fields: Fields): Operation | undefined {
  const known = ({ fieldNames }: Operation) => fieldNames.filter((name) => Object.hasOwn(fields, name)).length;
  const [best] = OPERATIONS.toSorted((a, b) => known(b) - known(a));
  return best !== undefined && best !== chosen && known(best) > known(chosen) ? best : undefined;
}
