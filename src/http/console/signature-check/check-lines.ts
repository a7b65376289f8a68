import type { SignedErrorCode } from "../../../errors.ts";
import { MAX_BODY_BYTES } from "../../../parse-json.ts";
import {
  type CheckedRequest,
  describeLeftOut,
  OPERATIONS,
  type PastedRequest,
} from "../../../services/check-pasted-request.ts";
import type { View } from "../view.ts";
import { lineEndsOf, signatureTexts, timestampText } from "./signature-texts.ts";

/** One line of the signature check: the step, its findings and its advice. */
export interface Line {
  title: string;
  texts: string[];
  refusal?: SignedErrorCode | undefined;
  /** The name of the rule that the database would refuse by. */
  outcome?: string;
  /** The step was not run, because it writes. */
  notEvaluated?: true;
  /** Why the timestamp is refused. `late` may only mean that the request was pasted long after it was sent; `early` cannot. */
  outdated?: "late" | "early" | undefined;
  /** The text that fits the signature, when it is not the pasted text. */
  signed?: string | undefined;
  /** The line ends that fit the signature, when the pasted text does not show them. */
  ends?: { fits: string; other: string } | undefined;
}

export interface Diagnosis {
  /** The answer to the request when it was sent, while its ranstr is still stored. */
  answered?: { siteId: number; sessionId: number | null; refusedFor?: string };
  /** In the order of the checks. The first `refusal` is what the service would answer now. */
  lines: Line[];
}

const line = (title: string, text: string, refusal?: SignedErrorCode): Line => ({ title, texts: [text], refusal });

/** The result of a check in words, one line for each step. */
export function checkLines(view: View, pasted: PastedRequest, checked: CheckedRequest, tolerance: number): Diagnosis {
  const { t } = view;
  const { fields, appid, app, signature, report } = checked;
  const lines = [bodyLine(view, pasted, checked)];
  const given = pasted.appid.trim();
  if (given !== "" && given !== appid) {
    const text = t("You pasted {0}, the body says {1}. The server goes by the body.", given, appid);
    lines.push(line(t("Two appids"), text));
  }
  if (appid === "") return { lines };
  const { stopped } = checked;
  if (stopped !== undefined && stopped.by !== "site_closed") {
    lines.push(line(t("Home"), stoppedText(view, stopped), "unavailable"));
    if (app === undefined) return { lines };
  }
  if (app === undefined || signature === undefined || report === undefined) {
    const text = t("There is no app {0} here. Look for a slip in copying, or for another environment's appid.", appid);
    return { lines: [...lines, line(t("App"), text, "token_invalid")] };
  }
  const { siteId, revokedAt } = app;
  if (revokedAt === null) lines.push(line(t("App"), t("Known, of site {0}.", siteId)));
  else {
    const text = t("The app was revoked on {0}. Issue another and use its secret.", view.time(revokedAt));
    lines.push(line(t("App"), text, "token_invalid"));
  }
  const { body } = signature.match ?? {};
  lines.push({
    title: t("Signature"),
    texts: signatureTexts(view, signature),
    refusal: report.authentication.ok || revokedAt !== null ? undefined : "token_invalid",
    signed: body?.rewritten && body.text,
    ends: body && lineEndsOf(body),
  });
  if (!fields.ok || isTooLong(pasted.body)) return { lines };
  lines.push(...freshnessLines(view, checked, tolerance));
  lines.push({ title: t("Limits"), texts: [t("Not evaluated: looking would use them up.")], notEvaluated: true });
  lines.push(fieldsLine(view, pasted, checked));
  if (stopped?.by === "site_closed") lines.push(line(t("Site"), stoppedText(view, stopped), "unavailable"));
  const { used, outcome } = report;
  if (outcome !== undefined && !(used?.sessionId && used.mayBeItself)) lines.push(...outcomeLines(view, outcome));
  if (!used?.mayBeItself || !signature.exact) return { lines };
  const refusedFor = used.sessionId === null && isOutcome(used.outcome) ? { refusedFor: used.outcome } : {};
  return { lines, answered: { siteId, sessionId: used.sessionId, ...refusedFor } };
}

/** Why an earlier request was refused, from its stored outcome. */
export function refusalText({ t }: View, outcome: string): string {
  if (outcome === "key_reused") {
    return t("The Idempotency-Key was used before for a call that meant something else.");
  }
  return t(ruleOf(outcome)?.past ?? "–");
}

/** The code of the answer to a stored outcome. */
export const codeOf = (outcome: string): SignedErrorCode =>
  outcome === "key_reused" ? "idempotency_key_reused" : (ruleOf(outcome)?.code ?? "state_forbids");

/** Searches the rules of all operations, because the ranstr may have been used for another operation. */
const ruleOf = (outcome: string) =>
  OPERATIONS.map(({ refusals }) => refusals[outcome]).find((rule) => rule !== undefined);

const isOutcome = (outcome: string) => outcome === "key_reused" || ruleOf(outcome) !== undefined;

const isTooLong = (body: string) => new TextEncoder().encode(body).length > MAX_BODY_BYTES;

function stoppedText({ t }: View, { by, home }: NonNullable<CheckedRequest["stopped"]>): string {
  const texts: Record<typeof by, string> = {
    home_closed: t("The home {0} is closed: CLOSED_HOMES names it. Every call of its sites is answered 503.", home),
    home_down: t("The home {0} of this app does not answer. More cannot be checked until it does.", home),
    site_closed: t("The site is closed: its calls are answered 503 until it is opened."),
  };
  return texts[by];
}

function bodyLine({ t }: View, { body }: PastedRequest, { fields }: CheckedRequest): Line {
  if (isTooLong(body)) {
    return line(t("Body"), t("The body is over 64 KiB."), "body_too_large");
  }
  if (fields.ok) return line(t("Body"), t("A JSON object with an appid."));
  if (fields.reason !== "body_appid_missing") return line(t("Body"), notJson(t, body), fields.code);
  return line(t("Body"), t("The body has no appid, a string of 1 to 64 characters."), fields.code);
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

function freshnessLines(view: View, { fields, report }: CheckedRequest, tolerance: number): Line[] {
  const { t } = view;
  const freshness = report?.freshness;
  if (freshness === undefined || !fields.ok) return [];
  if (!freshness.ok && freshness.code === "invalid_parameters") {
    return [line(t("timestamp and ranstr"), freshness.detail ?? "", freshness.code)];
  }
  const timestamp = Number(fields.value.timestamp);
  const lines: Line[] = [
    {
      ...line("timestamp", freshness.ok ? t("Fresh.") : timestampText(view, timestamp, tolerance)),
      refusal: freshness.ok ? undefined : freshness.code,
      outdated: freshness.ok ? undefined : timestamp < view.now ? "late" : "early",
    },
  ];
  const used = report?.used;
  if (!used) return [...lines, line("ranstr", t("Not used yet."))];
  const texts = [
    t("It was used before. Every request, a retry too, needs a ranstr of its own and a new signature."),
    used.sessionId === null
      ? t("That request was refused: {0}", refusalText(view, used.outcome))
      : t("That request was accepted: session {0}.", used.sessionId),
  ];
  return [...lines, { title: "ranstr", texts, refusal: "token_invalid" }];
}

function fieldsLine(view: View, { operation }: PastedRequest, { report, looksLike }: CheckedRequest): Line {
  const asked = report?.asked;
  const texts = [asked?.ok === false ? (asked.detail ?? "") : view.t("All as they should be.")];
  if (looksLike !== undefined) {
    const names = [looksLike.wireName, operation.wireName];
    texts.push(view.t("The body looks like one of {0}, but was checked as one of {1}.", ...names));
  }
  const title = view.t("Fields of {0}", operation.wireName);
  return { title, texts, refusal: asked?.ok === false ? asked.code : undefined };
}

type Outcome = NonNullable<NonNullable<CheckedRequest["report"]>["outcome"]>;

function outcomeLines(view: View, outcome: Outcome): Line[] {
  const title = view.t("Agents and session");
  if (outcome.kind === "refused") {
    const { detail = "", code, reason } = outcome.refused;
    return [{ ...line(title, detail, code), outcome: reason }];
  }
  if (outcome.kind !== "accepted") return [];
  if (outcome.leftOut.length === 0) return [line(title, view.t("Nothing stands in the way."))];
  return [line(title, view.t("These are ignored, the others are added: {0}", describeLeftOut(outcome.leftOut)))];
}
