import { diagnoseSignature, type SignatureDiagnosis } from "../../credentials/diagnose-signature.ts";
import { openSecrets } from "../../credentials/open-secrets.ts";
import type { Keyring } from "../../credentials/sealed-secret.ts";
import { homeDatabase, type Settings } from "../../env.ts";
import type { ErrorCode } from "../../errors.ts";
import { describeIssues, fieldIssues } from "../../fields.ts";
import { requestStampSchema } from "../../sessions/request-stamp.ts";
import { checkFreshness } from "../../signing/check-freshness.ts";
import { listUnfitAgents } from "../../store/agents.ts";
import { findNonce } from "../../store/nonces.ts";
import { readSession } from "../../store/sessions.ts";
import { parseJsonObject } from "../parse-json.ts";
import { MAX_BODY_BYTES } from "../read-body.ts";
import { addKf, createGd } from "../routes/signed-operations.ts";

/** What was found, in the order in which the server looks. The first with a `refusal` is what it would answer. */
export type Finding = { refusal?: ErrorCode } & (
  | { about: "body"; fault?: "empty" | "too_large" | "not_json" | "byte_order_mark" | "no_appid"; parser?: string }
  | { about: "app"; fault?: "unknown" | "revoked"; appid: string; siteId?: number; revokedAt?: number }
  | { about: "other_appid"; pasted: string; sent: string }
  | { about: "signature"; diagnosis: SignatureDiagnosis }
  | { about: "stamp"; detail: string }
  | { about: "timestamp"; fault?: "stale" | "ahead" | "milliseconds"; timestamp: number; tolerance: number }
  | { about: "ranstr"; fault?: "used"; outcome?: string; sessionId?: number | null; siteId: number }
  | { about: "fields"; operation: "create_gd" | "add_kf"; detail?: string }
  | { about: "operation"; detail?: string }
);

export interface PastedRequest {
  appid: string;
  body: string;
  signature: string;
}

/**
 * What the server would make of a request, and why. Reads what the request would read, writes nothing, keeps nothing.
 *
 * @param now Unix seconds
 */
export async function diagnoseRequest(
  settings: Settings,
  keyring: Keyring,
  pasted: PastedRequest,
  now: number,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  const fields = readBody(pasted.body, findings);
  const sent = typeof fields?.appid === "string" ? fields.appid : undefined;
  const appid = sent ?? pasted.appid.trim();
  if (sent !== undefined && pasted.appid.trim() !== "" && pasted.appid.trim() !== sent) {
    findings.push({ about: "other_appid", pasted: pasted.appid.trim(), sent });
  }
  const opened = appid === "" ? undefined : await openSecrets(settings.directory, keyring, appid);
  if (appid !== "") findings.push(aboutApp(appid, opened?.app));
  if (opened === undefined) return findings;
  const diagnosis = await diagnoseSignature(pasted, opened.secrets, now);
  findings.push({ about: "signature", diagnosis, ...(!diagnosis.valid && { refusal: "token_invalid" }) });
  if (fields !== undefined) await readFields(settings, opened.app, fields, now, findings);
  return findings;
}

function readBody(text: string, findings: Finding[]): Record<string, unknown> | undefined {
  const bytes = Uint8Array.from(new TextEncoder().encode(text)).buffer;
  const refuse = (fault: Extract<Finding, { about: "body" }>["fault"], parser?: string) => {
    const refusal = fault === "too_large" ? "body_too_large" : "invalid_parameters";
    findings.push({ about: "body", refusal, ...(fault && { fault }), ...(parser && { parser }) });
    return undefined;
  };
  if (text.trim() === "") return refuse("empty");
  if (bytes.byteLength > MAX_BODY_BYTES) return refuse("too_large");
  if (text.startsWith("\ufeff")) return refuse("byte_order_mark");
  const parsed = parseJsonObject(bytes, createGd.digitsOf);
  if (!parsed.ok) return refuse("not_json", parserSays(text));
  const fields = parsed.object;
  const { appid } = fields;
  if (typeof appid !== "string" || appid === "" || [...appid].length > 64) return refuse("no_appid") ?? fields;
  findings.push({ about: "body" });
  return fields;
}

function parserSays(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

function aboutApp(appid: string, app: { siteId: number; revokedAt: number | null } | undefined): Finding {
  if (app === undefined) return { about: "app", appid, fault: "unknown", refusal: "token_invalid" };
  const { siteId, revokedAt } = app;
  if (revokedAt === null) return { about: "app", appid, siteId };
  return { about: "app", appid, siteId, revokedAt, fault: "revoked", refusal: "token_invalid" };
}

async function readFields(
  settings: Settings,
  app: { appid: string; siteId: number },
  fields: Record<string, unknown>,
  now: number,
  findings: Finding[],
): Promise<void> {
  const { siteId } = app;
  const stamp = requestStampSchema.safeParse(fields);
  if (!stamp.success) {
    findings.push({ about: "stamp", detail: describeIssues(fieldIssues(stamp.error)), refusal: "invalid_parameters" });
  } else {
    const { timestamp, ranstr } = stamp.data;
    const tolerance = settings.timestampToleranceSeconds;
    const fresh = checkFreshness(timestamp, now, tolerance);
    const fault = fresh.ok ? undefined : fresh.reason === "timestamp_stale" ? "stale" : "ahead";
    // Milliseconds of now, read as seconds, are in the year 50,000.
    const milliseconds = fault === "ahead" && timestamp > 100_000_000_000;
    findings.push({
      ...{ about: "timestamp", timestamp, tolerance },
      ...(fault && { fault: milliseconds ? "milliseconds" : fault, refusal: "token_invalid" }),
    });
    const used = await findNonce(homeDatabase(settings, siteId), app.appid, ranstr, now);
    findings.push({
      ...{ about: "ranstr", siteId },
      ...(used && { fault: "used", outcome: used.outcome, sessionId: used.sessionId, refusal: "token_invalid" }),
    });
  }
  await (fields.chat_id === undefined && fields.kefu_ids === undefined ? readCreate : readAdd)(
    homeDatabase(settings, siteId),
    siteId,
    fields,
    findings,
  );
}

async function readCreate(db: D1Database, siteId: number, fields: Record<string, unknown>, findings: Finding[]) {
  const input = createGd.schema.safeParse(fields);
  findings.push(aboutFields("create_gd", input));
  if (!input.success) return;
  const unfit = await listUnfitAgents(db, siteId, input.data.agentIds);
  const detail = `kefu_id: unknown, foreign or disabled: ${unfit.join(", ")}`;
  findings.push({ about: "operation", ...(unfit.length > 0 && { detail, refusal: "invalid_parameters" }) });
}

async function readAdd(db: D1Database, siteId: number, fields: Record<string, unknown>, findings: Finding[]) {
  const input = addKf.schema.safeParse(fields);
  findings.push(aboutFields("add_kf", input));
  if (!input.success) return;
  const { sessionId, agentIds } = input.data;
  const stored = await readSession(db, siteId, sessionId);
  const unfit = await listUnfitAgents(db, siteId, agentIds);
  const present = new Set([stored?.session.responsibleAgentId, ...(stored?.participants ?? []).map((p) => p.agentId)]);
  const joining = agentIds.filter((id) => !unfit.includes(id) && !present.has(id));
  const refuse = (refusal: ErrorCode, detail: string) => findings.push({ about: "operation", refusal, detail });
  if (stored === undefined) refuse("session_not_found", "chat_id: no such session on this site");
  else if (stored.session.kind !== "ticket") refuse("state_forbids", "chat_id: is not a ticket session");
  else if (stored.session.responsibleAgentId === null)
    refuse("state_forbids", "chat_id: the session has no responsible agent");
  else if (joining.length === 0)
    refuse("state_forbids", "kefu_ids: none is new to the session, of this site and in normal status");
  else findings.push({ about: "operation" });
}

function aboutFields(
  operation: "create_gd" | "add_kf",
  input: { success: boolean; error?: Parameters<typeof fieldIssues>[0] | undefined },
): Finding {
  if (input.error === undefined) return { about: "fields", operation };
  return {
    about: "fields",
    operation,
    detail: describeIssues(fieldIssues(input.error)),
    refusal: "invalid_parameters",
  };
}
