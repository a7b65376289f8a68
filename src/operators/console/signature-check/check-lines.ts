import { describeLeftOut, detailOf } from "../../../core/describe-violations.ts";
import type { SignedErrorCode } from "../../../core/errors.ts";
import { MAX_BODY_BYTES } from "../../../core/parse-json.ts";
import type { Refused } from "../../../core/result.ts";
import {
  type CheckedRequest,
  type CheckStep,
  checkTimestamp,
  lineEndsOf,
  OPERATIONS,
  type PastedRequest,
  type SignatureDiagnosis,
  type SimilarApp,
  sentenceOf,
} from "../../services/check-pasted-request.ts";
import { troubleTexts } from "../parts/site-frame.tsx";
import { reasonText } from "../reasons.ts";
import type { View } from "../view.ts";
import { leftOutText, violationTexts } from "../violation-texts.ts";

/** One line of the signature check: the step, its findings and its advice. */
export interface CheckLine {
  title: string;
  /** The finding, then the advice. */
  texts: string[];
  /** How many of the texts are findings. By default, the first sentence of the first text is the only one. */
  findingCount?: number;
  /** What the server sends to the caller, by header, or what a parser said. It is English. */
  said?: string[];
  links?: [text: string, href: string][] | undefined;
  /** Existing apps whose appids resemble an unknown appid. */
  similar?: SimilarApp[];
  refusal?: SignedErrorCode | undefined;
  /** The line is about a header that was not pasted. The check assumes a form, because the body looks like one. */
  assumed?: true;
  /** The name of the rule by which the database would refuse the call. */
  outcome?: string;
  /** The reader should know of it, although no call is refused for it. */
  notice?: true;
  /** The step was not run, because it would write. */
  notEvaluated?: true;
  /** Why the timestamp is refused. A `late` request may only have been pasted long after it was sent. An `early` one cannot. */
  outdated?: "late" | "early" | undefined;
  /** The text that fits the signature, when it is not the pasted text. */
  signed?: string | undefined;
  /** The line ends that fit the signature, when the pasted text does not show its line ends. */
  ends?: { fits: string; other: string } | undefined;
}

export interface Diagnosis {
  appid?: string | undefined;
  /** The answer to the request when it was sent, while its ranstr is still stored. */
  answered?: { siteId: number; sessionId: number | null; refusedFor?: string };
  /** The session of the call that was accepted under the same Idempotency-Key. */
  repeats?: number;
  /** The lines in the order of the checks. The first `refusal` is the service's answer now. */
  lines: CheckLine[];
}

const line = (title: string, text: string, refusal?: SignedErrorCode): CheckLine => ({ title, texts: [text], refusal });

/** The violations of a refusal as the caller gets them. */
const saidOf = (refused?: Refused) =>
  refused?.violations === undefined ? [] : [`x-error-detail: ${detailOf(refused)}`];

/** The line of a refusal whose violations the caller gets: what breaks which rule, and what to do. */
function refusedLine(view: View, title: string, refused: Refused): CheckLine {
  const { code: refusal, reason: outcome, violations = [] } = refused;
  const ownTexts = violationTexts(view, violations);
  // For this reason the violations already say everything.
  const texts = outcome === "fields_invalid" ? ownTexts : [...ownTexts, reasonText(view, outcome).cure];
  return { title, texts, findingCount: ownTexts.length, said: saidOf(refused), refusal, outcome };
}

/** The result of a check in words, one line for each step. */
export function checkLines(view: View, pasted: PastedRequest, checked: CheckedRequest, tolerance: number): Diagnosis {
  const { t } = view;
  const { fields, appid, app, signature, report } = checked;
  const lines = formLines(view, pasted, checked);
  const pastedAppid = pasted.appid.trim();
  if (pastedAppid !== "" && pastedAppid !== appid) {
    const text = t("You pasted {0}, the body says {1}. The server goes by the body.", pastedAppid, appid);
    lines.push({ ...line(t("Two appids"), text), notice: true });
  }
  if (appid === "") return { lines };
  const { stopped } = checked;
  if (stopped !== undefined && stopped.by !== "site_closed") {
    lines.push(line(t("Home"), stoppedText(view, stopped), "unavailable"));
    if (app === undefined) return { lines };
  }
  if (app === undefined) return { lines: [...lines, unknownAppLine(view, checked)] };
  lines.push(appLine(view, appid, app));
  if (signature === undefined || report === undefined) {
    const { what, cure } = reasonText(view, "master_key_wrong");
    return { lines: [...lines, { title: "MASTER_KEY", texts: [what, cure], refusal: "internal" }] };
  }
  lines.push(signatureLine(view, checked, signature));
  if (!fields.ok || isTooLong(pasted.body)) return { lines };
  lines.push(...freshnessLines(view, checked, tolerance));
  lines.push({ title: t("Limits"), texts: [t("Not evaluated: looking would use them up.")], notEvaluated: true });
  lines.push(fieldsLine(view, pasted, checked));
  const { used, outcome, idempotencyKey } = report;
  if (!idempotencyKey.ok) lines.push(stepLine(view, "Idempotency-Key", checked.key, idempotencyKey));
  if (stopped?.by === "site_closed") lines.push(line(t("Site"), stoppedText(view, stopped), "unavailable"));
  if (idempotencyKey.ok && idempotencyKey.value !== null) lines.push(keyLine(view, app.siteId, outcome));
  if (outcome !== undefined && !(used?.sessionId && used.mayBeItself)) lines.push(...outcomeLines(view, outcome));
  const repeats = outcome?.kind === "repeated" ? { repeats: outcome.sessionId } : {};
  if (!used?.mayBeItself || !signature.exact) return { lines, ...repeats };
  const refusedFor = used.sessionId === null && isRefusal(used.outcome) ? { refusedFor: used.outcome } : {};
  return { lines, answered: { siteId: app.siteId, sessionId: used.sessionId, ...refusedFor } };
}

/** Whether this release knows the refusal. The ranstr may have been used for another operation. */
const isRefusal = (outcome: string) =>
  outcome === "key_reused" || OPERATIONS.some(({ refusals }) => Object.hasOwn(refusals, outcome));

const isTooLong = (body: string) => new TextEncoder().encode(body).length > MAX_BODY_BYTES;

function stoppedText(view: View, { by, home }: NonNullable<CheckedRequest["stopped"]>): string {
  if (by === "site_closed") return view.t("The site is closed: its calls are answered 503 until it is opened.");
  if (by !== "silent") return `${home} ${troubleTexts(view)[by][1]}`;
  return view.t("The home {0} of this app does not answer. More cannot be checked until it does.", home);
}

/** A step of the diagnosis as a line. @param refused what the server answers the caller, when it refuses */
const stepLine = (view: View, title: string, step: CheckStep, refused?: Refused): CheckLine => ({
  title,
  texts: [sentenceOf(view, step), ...(step.more ?? []).map((more) => sentenceOf(view, more))],
  said: saidOf(refused),
  refusal: step.refusal?.code,
});

/** The steps before the server looks for the app: the headers and the body. */
function formLines(view: View, { contentType }: PastedRequest, { form, fields }: CheckedRequest): CheckLine[] {
  const headers: Record<string, string> = { content_type: "Content-Type", content_encoding: "Content-Encoding" };
  const shown = form.filter(({ step, refusal }) => step !== "size" || refusal !== undefined);
  return shown.map((step) => ({
    ...stepLine(
      view,
      headers[step.step] ?? view.t("Body"),
      step,
      step.step === "body" && !fields.ok ? fields : undefined,
    ),
    ...(step.step === "content_type" && step.refusal && contentType === undefined && { assumed: true }),
  }));
}

function appLine(view: View, appid: string, app: NonNullable<CheckedRequest["app"]>): CheckLine {
  const { t } = view;
  const { siteId, siteName, revokedAt } = app;
  const site = `/console/sites/${siteId}`;
  const links: CheckLine["links"] = [
    [t("To the app {0}", appid), `${site}/apps/${appid}`],
    [t("To the site {0}", siteName), site],
  ];
  if (revokedAt === null) return { title: t("App"), texts: [t("An app of the site {0}.", siteName)], links };
  const text = t("The app was revoked on {0}. Issue another and use its secret.", view.time(revokedAt));
  return { title: t("App"), texts: [text], links, refusal: "token_invalid" };
}

function unknownAppLine({ t }: View, { appid, similar = [] }: CheckedRequest): CheckLine {
  const title = t("App");
  const [nearest] = similar;
  const text = t("There is no app {0} here. Look for a slip in copying, or for another environment's appid.", appid);
  if (nearest === undefined) return line(title, text, "token_invalid");
  const { hasForeignCharacters, differsInCase, hasLookalikes, slips, signs } = nearest;
  const differences = [
    hasForeignCharacters && t("A blank or another character stands in it that no appid has."),
    differsInCase && t("Capital and small letters differ."),
    hasLookalikes && t("Characters that look alike were exchanged: 0 and O, or 1, l and I."),
    slips === 1 && t("One character is wrong, missing or too many, or two are swapped."),
    slips === 2 && t("Two characters are wrong, missing, too many or swapped."),
    slips > 2 && t("The body names quite another appid."),
  ].filter((text) => text !== false);
  const finding = signs
    ? t("It is the app {0} of the site {1}: its secret makes this signature.", nearest.appid, nearest.siteName)
    : t("There is no such app. It may be {0} of the site {1}.", nearest.appid, nearest.siteName);
  const texts = [finding, differences.join(t(" ")), t("Send the appid exactly as it was issued.")];
  return { title, texts, findingCount: 1, similar, refusal: "token_invalid" };
}

function signatureLine(view: View, checked: CheckedRequest, signature: SignatureDiagnosis): CheckLine {
  const { t } = view;
  const { app, report, rotatedAt, otherApp } = checked;
  const { body, slot } = signature.match ?? {};
  const texts = signature.findings.map((finding) => sentenceOf(view, finding));
  if (rotatedAt !== undefined)
    texts.push(t("The secret was rotated on {0}: the sender may still use the old one.", view.time(rotatedAt)));
  return {
    title: t("Signature"),
    texts,
    links: otherApp && [[t("To the app {0}", otherApp.name), `/console/sites/${app?.siteId}/apps/${otherApp.appid}`]],
    refusal: report?.authentication.ok === true || app?.revokedAt !== null ? undefined : "token_invalid",
    ...(slot === "previous" && { notice: true }),
    signed: body?.rewritten && body.text,
    ends: body && lineEndsOf(body),
  };
}

function freshnessLines(view: View, { fields, report }: CheckedRequest, tolerance: number): CheckLine[] {
  const { t } = view;
  const freshness = report?.freshness;
  if (freshness === undefined || !fields.ok) return [];
  if (!freshness.ok && freshness.code === "invalid_parameters")
    return [refusedLine(view, t("timestamp and ranstr"), freshness)];
  const timestamp = Number(fields.value.timestamp);
  const outdatedText = sentenceOf(view, checkTimestamp(timestamp, view.now, tolerance));
  const clock: CheckLine = freshness.ok
    ? line("timestamp", t("Fresh."))
    : { ...line("timestamp", outdatedText, freshness.code), outdated: timestamp < view.now ? "late" : "early" };
  const usedRanstr = report?.used;
  if (!usedRanstr) return [clock, line("ranstr", t("Not used yet."))];
  const texts = [
    t("It was used before. Every request, a retry too, needs a one-time text of its own and a new signature."),
    usedRanstr.sessionId === null
      ? t("That request was refused: {0}", reasonText(view, usedRanstr.outcome).what)
      : t("That request was accepted: session {0}.", usedRanstr.sessionId),
  ];
  return [clock, { title: "ranstr", texts, refusal: "token_invalid" }];
}

function fieldsLine(view: View, { operation }: PastedRequest, { report, looksLike }: CheckedRequest): CheckLine {
  const { t } = view;
  const readFields = report?.operationInput;
  const title = t("Fields of {0}", operation.wireName);
  const fieldLine =
    readFields?.ok === false ? refusedLine(view, title, readFields) : line(title, t("All as they should be."));
  const names = [looksLike?.wireName, operation.wireName];
  if (looksLike) fieldLine.texts.push(t("The body looks like one of {0}, but was checked as one of {1}.", ...names));
  return fieldLine;
}

type PreviewOutcome = NonNullable<NonNullable<CheckedRequest["report"]>["outcome"]>;

/** What the database knows about a well-formed Idempotency-Key. */
function keyLine(view: View, siteId: number, outcome: PreviewOutcome | undefined): CheckLine {
  const { t } = view;
  const title = "Idempotency-Key";
  if (outcome?.kind === "refused" && outcome.refused.reason === "key_reused")
    return refusedLine(view, title, outcome.refused);
  if (outcome?.kind !== "repeated") return line(title, t("No call was accepted under this key in the last 24 hours."));
  const { sessionId: id } = outcome;
  const text = t("A call under this key was accepted: session {0}. Sent again, it is answered with that session.", id);
  return { ...line(title, text), links: [[t("To the session"), `/console/sites/${siteId}/sessions/${id}`]] };
}

function outcomeLines(view: View, outcome: PreviewOutcome): CheckLine[] {
  const title = view.t("Agents and session");
  if (outcome.kind === "refused")
    return outcome.refused.reason === "key_reused" ? [] : [refusedLine(view, title, outcome.refused)];
  if (outcome.kind !== "accepted") return [];
  if (outcome.leftOut.length === 0) return [line(title, view.t("Nothing stands in the way."))];
  const text = view.t("These are ignored, the others are added: {0}", leftOutText(view, outcome.leftOut));
  return [{ title, texts: [text], said: [`x-ignored-agents: ${describeLeftOut(outcome.leftOut)}`] }];
}
