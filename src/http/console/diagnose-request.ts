import { type Config, homeDatabase } from "../../config.ts";
import { openSecrets } from "../../credentials/open-secrets.ts";
import type { Keyring } from "../../credentials/sealed-secret.ts";
import { diagnoseSignature } from "../../diagnosis/diagnose-signature.ts";
import type { ErrorCode } from "../../errors.ts";
import { describeIssues, fieldIssues } from "../../fields.ts";
import { describeIgnored } from "../../operations/add-agents.ts";
import { parseJsonObject } from "../../parse-json.ts";
import { requestStampSchema } from "../../pipeline/request-stamp.ts";
import type { Runtime } from "../../runtime.ts";
import { checkFreshness } from "../../signing/check-freshness.ts";
import type { AddAgentsOutcome, IgnoredAgent } from "../../store/home/add-agents-batch.ts";
import { agentStatuses } from "../../store/home/agents.ts";
import { findNonce } from "../../store/home/nonces.ts";
import { readSession } from "../../store/home/sessions.ts";
import { MAX_BODY_BYTES } from "../read-body.ts";
import { addKf, createGd } from "../signed/operations.ts";
import type { SignedOperation } from "../signed/route.ts";
import { lineEndsOf, signatureTexts, timestampText } from "./signature-texts.ts";
import type { View } from "./view.ts";

export const OPERATIONS = { create_gd: createGd, add_kf: addKf };

export interface PastedRequest {
  operation: keyof typeof OPERATIONS;
  appid: string;
  body: string;
  signature: string;
}

/** What D1 refuses for, and how that is answered. */
export const OUTCOMES = {
  agents_invalid: "invalid_parameters",
  key_reused: "idempotency_key_reused",
  session_not_found: "session_not_found",
  not_a_ticket: "state_forbids",
  no_responsible_agent: "state_forbids",
  no_new_agents: "state_forbids",
} as const satisfies Record<AddAgentsOutcome | "agents_invalid" | "key_reused", ErrorCode>;

type Outcome = keyof typeof OUTCOMES;

/** One line of the check: what was looked at, and what to know or do about it. */
export interface Line {
  title: string;
  texts: string[];
  refusal?: ErrorCode | undefined;
  /** What D1 would refuse for. */
  outcome?: Outcome;
  /** The refusal is the timestamp's. Checked a while after it was sent, every request is late; none is early by waiting. */
  outdated?: "late" | "early" | undefined;
  /** The text that the signature does fit, when it is not the pasted one. */
  signed?: string | undefined;
  /** Which line ends the signature fits, where the pasted text cannot tell. */
  ends?: { fits: string; other: string } | undefined;
}

export interface Diagnosis {
  /** What the call was answered, while its ranstr is remembered. */
  answered?: { siteId: number; sessionId: number | null; refusedFor?: Outcome };
  /** In the order in which the server looks: the first with a `refusal` is what it would answer now. */
  lines: Line[];
}

const line = (title: string, text: string, refusal?: ErrorCode): Line => ({ title, texts: [text], refusal });

/** A request of a known app while it is looked at. */
interface Reading {
  v: View;
  db: D1Database;
  siteId: number;
  appid: string;
  fields: Record<string, unknown>;
  lines: Line[];
  /** The call that used the ranstr. */
  used?: { outcome: string; sessionId: number | null } | undefined;
}

/**
 * What the server answered to a request and would answer now, and why. Reads what the request would read, writes nothing, keeps
 * nothing.
 */
export async function diagnoseRequest(
  runtime: Runtime,
  v: View,
  config: Config,
  keyring: Keyring,
  pasted: PastedRequest,
): Promise<Diagnosis> {
  const { t } = v;
  const lines: Line[] = [];
  const fields = readBody(v, pasted, lines);
  const given = pasted.appid.trim();
  const appid = typeof fields?.appid === "string" ? fields.appid : given;
  if (given !== "" && given !== appid) {
    const text = t("You pasted {0}, the body says {1}. The server goes by the body.", given, appid);
    lines.push(line(t("Two appids"), text));
  }
  if (appid === "") return { lines };
  const opened = await openSecrets(runtime, config.directory, keyring, appid);
  if (opened === undefined) {
    const text = t("There is no app {0} here. Look for a slip in copying, or for another environment's appid.", appid);
    return { lines: [...lines, line(t("App"), text, "token_invalid")] };
  }
  const { siteId, revokedAt } = opened.app;
  if (revokedAt === null) lines.push(line(t("App"), t("Known, of site {0}.", siteId)));
  else {
    const text = t("The app was revoked on {0}. Issue another and use its secret.", v.time(revokedAt));
    lines.push(line(t("App"), text, "token_invalid"));
  }
  const diagnosis = await diagnoseSignature(pasted, opened.secrets, v.now);
  const { body } = diagnosis.match ?? {};
  lines.push({
    title: t("Signature"),
    texts: signatureTexts(v, diagnosis),
    refusal: diagnosis.valid ? undefined : "token_invalid",
    signed: body?.rewritten && body.text,
    ends: body && lineEndsOf(body),
  });
  if (fields === undefined) return { lines };
  const reading: Reading = { v, db: homeDatabase(config, siteId), siteId, appid, fields, lines };
  reading.used = await readStamp(reading, config.timestampToleranceSeconds);
  const isItsOwn = await (pasted.operation === "create_gd" ? readCreate(reading) : readAdd(reading));
  if (reading.used === undefined || !isItsOwn || !diagnosis.exact) return { lines };
  const { outcome, sessionId } = reading.used;
  return { lines, answered: { siteId, sessionId, ...(isRefusal(outcome) && { refusedFor: outcome }) } };
}

const isRefusal = (outcome: string): outcome is Outcome => Object.hasOwn(OUTCOMES, outcome);

/** What a call was refused for, when that cannot be seen from the request any more. */
export function refusalText({ t }: View, outcome: Outcome): string {
  const texts: Record<Outcome, string> = {
    agents_invalid: t("An agent was unknown, foreign or disabled."),
    key_reused: t("The Idempotency-Key was used before for a call that meant something else."),
    session_not_found: t("The site had no such session."),
    not_a_ticket: t("The session was not a ticket."),
    no_responsible_agent: t("The session had no responsible agent."),
    no_new_agents: t("There was nobody to add."),
  };
  return texts[outcome];
}

function readBody({ t }: View, { body, operation }: PastedRequest, lines: Line[]): Record<string, unknown> | undefined {
  const say = (text: string, refusal?: ErrorCode) => void lines.push(line(t("Body"), text, refusal));
  const bytes = Uint8Array.from(new TextEncoder().encode(body)).buffer;
  if (bytes.byteLength > MAX_BODY_BYTES) return say(t("The body is over 64 KiB."), "body_too_large");
  const parsed = parseJsonObject(bytes, OPERATIONS[operation].digitsOf);
  if (!parsed.ok) return say(notJson(t, body), "invalid_parameters");
  const fields = parsed.object;
  const { appid } = fields;
  const isAppid = typeof appid === "string" && appid !== "" && [...appid].length <= 64;
  if (isAppid) say(t("A JSON object with an appid."));
  else say(t("The body has no appid, a string of 1 to 64 characters."), "invalid_parameters");
  return fields;
}

function notJson(t: View["t"], body: string): string {
  if (body.trim() === "") return t("The body is empty.");
  if (body.startsWith("\ufeff")) return t("A byte order mark stands before the JSON: send UTF-8 without BOM.");
  if (/^\w+=/.test(body)) {
    return t("The body is URL-encoded. Send JSON; with the media type of a form the server answers 415.");
  }
  try {
    JSON.parse(body);
    return t("The body is not a JSON object.");
  } catch (error) {
    return `${t("The body is not a JSON object.")} ${(error as Error).message}`;
  }
}

async function readStamp({ v, db, appid, fields, lines }: Reading, tolerance: number): Promise<Reading["used"]> {
  const { t } = v;
  const stamp = requestStampSchema.safeParse(fields);
  if (!stamp.success) {
    const detail = describeIssues(fieldIssues(stamp.error));
    lines.push(line(t("timestamp and ranstr"), detail, "invalid_parameters"));
    return undefined;
  }
  const { timestamp, ranstr } = stamp.data;
  const outdated = !checkFreshness(timestamp, v.now, tolerance).ok;
  const text = outdated ? timestampText(v, timestamp, tolerance) : t("Fresh.");
  lines.push({
    ...line("timestamp", text, outdated ? "token_invalid" : undefined),
    outdated: !outdated ? undefined : timestamp < v.now ? "late" : "early",
  });
  const used = await findNonce(db, appid, ranstr, v.now);
  if (used === null) {
    lines.push(line("ranstr", t("Not used yet.")));
    return undefined;
  }
  const texts = [
    t("It was used before. Every request, a retry too, needs a ranstr of its own and a new signature."),
    used.sessionId === null
      ? t("That request was refused: {0}", isRefusal(used.outcome) ? refusalText(v, used.outcome) : "–")
      : t("That request was accepted: session {0}.", used.sessionId),
  ];
  lines.push({ title: "ranstr", texts, refusal: "token_invalid" });
  return used;
}

/** @returns whether it may be this very call that used the ranstr, as far as what that one left can tell */
async function readCreate(reading: Reading): Promise<boolean> {
  const { v, db, siteId, used } = reading;
  const input = readFields(reading, "create_gd", createGd);
  if (input === undefined) return false;
  if (used?.sessionId) {
    const made = await readSession(db, siteId, used.sessionId);
    if (made === undefined) return true;
    return made.customer.externalId === input.customer.externalId && made.messages[0]?.content === input.content;
  }
  const statuses = await agentStatuses(db, siteId, input.agentIds);
  const unfit = input.agentIds.filter((id) => statuses.get(id) !== "normal");
  const detail = `kefu_id: unknown, foreign or disabled: ${unfit.slice(0, 20).join(", ")}`;
  conclude(reading, unfit.length > 0 ? ["agents_invalid", detail] : v.t("Nothing stands in the way."));
  return used?.outcome === "agents_invalid" || used?.outcome === "key_reused";
}

/** @returns as {@link readCreate} */
async function readAdd(reading: Reading): Promise<boolean> {
  const { v, db, siteId, used } = reading;
  const input = readFields(reading, "add_kf", addKf);
  if (input === undefined) return false;
  if (used?.sessionId) return used.sessionId === input.sessionId;
  const { session, participants = [] } = (await readSession(db, siteId, input.sessionId)) ?? {};
  const present = new Set([session?.responsibleAgentId, ...participants.map(({ agentId }) => agentId)]);
  const statuses = await agentStatuses(db, siteId, input.agentIds);
  const ignored = input.agentIds.flatMap((id): IgnoredAgent[] => {
    const why = present.has(id) ? "already on the session" : (statuses.get(id) ?? "unknown");
    return why === "normal" ? [] : [{ id, why }];
  });
  const verdict = (): [Outcome, string] | string => {
    if (session === undefined) return ["session_not_found", "chat_id: no such session on this site"];
    if (session.kind !== "ticket") return ["not_a_ticket", "chat_id: is not a ticket session"];
    const { responsibleAgentId } = session;
    if (responsibleAgentId === null) return ["no_responsible_agent", "chat_id: the session has no responsible agent"];
    if (ignored.length === input.agentIds.length)
      return ["no_new_agents", `kefu_ids: nobody to add: ${describeIgnored(ignored)}`];
    if (ignored.length === 0) return v.t("Nothing stands in the way.");
    return v.t("These are ignored, the others are added: {0}", describeIgnored(ignored));
  };
  conclude(reading, verdict());
  return used !== undefined && used.outcome !== "agents_invalid";
}

function conclude({ v, lines }: Reading, verdict: [Outcome, string] | string): void {
  const title = v.t("Agents and session");
  if (typeof verdict === "string") return void lines.push(line(title, verdict));
  const [outcome, detail] = verdict;
  lines.push({ ...line(title, detail, OUTCOMES[outcome]), outcome });
}

function readFields<Input>(
  { v, fields, lines }: Reading,
  name: PastedRequest["operation"],
  { schema }: SignedOperation<Input>,
): Input | undefined {
  const input = schema.safeParse(fields);
  const texts = [input.success ? v.t("All as they should be.") : describeIssues(fieldIssues(input.error))];
  const isCreate = "content" in fields || "sbs" in fields;
  const looks = isCreate === "chat_id" in fields ? name : isCreate ? "create_gd" : "add_kf";
  if (looks !== name) texts.push(v.t("The body looks like one of {0}, but was checked as one of {1}.", looks, name));
  lines.push({ title: v.t("Fields of {0}", name), texts, refusal: input.success ? undefined : "invalid_parameters" });
  return input.data;
}
