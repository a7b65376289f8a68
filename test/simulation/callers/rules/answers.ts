import { modelAt } from "../../operations/index.ts";
import type { Answer, Call } from "../../world/call.ts";
import type { Verdict } from "./verdicts.ts";

/** The form of an answer: section 7 of the contract, and docs/decisions.md, "Answers". */
interface Form {
  status: number;
  msg: string;
  /** Whether `x-error-detail` is sent. Undefined when it may or may not be sent. */
  areViolationsSent?: boolean;
}

export const NO_ANSWER: Form = { status: 503, msg: "服务暂时不可用" };
export const LIMITED: Form = { status: 429, msg: "请求过于频繁" };
const TOKEN_REFUSED: Form = { status: 401, msg: "token验证失败!", areViolationsSent: true };
const DONE: Form = { status: 200, msg: "ok", areViolationsSent: false };

/** The form of the answer to each verdict that no rule of the operation gives. */
const FORMS: Record<Exclude<Verdict["kind"], "refused">, Form> = {
  home_closed: NO_ANSWER,
  site_closed: { ...NO_ANSWER, areViolationsSent: true },
  unsigned: { ...TOKEN_REFUSED, areViolationsSent: false },
  stale: TOKEN_REFUSED,
  used: TOKEN_REFUSED,
  seal_unknown: { status: 500, msg: "系统错误" },
  repeated: DONE,
  accepted: DONE,
};

function formOf(verdict: Verdict, call: Call): Form {
  if (verdict.kind !== "refused") return FORMS[verdict.kind];
  if (verdict.reason === "key_reused") return { status: 422, msg: "参数错误", areViolationsSent: true };
  const { status = 0, msg = "" } = modelAt(call.wire.path)?.refusals[verdict.reason] ?? {};
  return { status, msg, areViolationsSent: true };
}

/** Why an answer does not fit a verdict; undefined when it does. */
export const mismatch = (call: Call, answer: Answer, verdict: Verdict): string | undefined =>
  formMismatch(call, answer, formOf(verdict, call)) ?? wrongData(call, answer, verdict);

/** Why an answer does not have a form; undefined when it has. */
export function formMismatch({ isolate }: Call, { status, headers, body }: Answer, form: Form): string | undefined {
  const success = form.status === 200;
  const expected = isolate?.settings.errorStatus === "always-200" ? 200 : form.status;
  if (status !== expected) return `status ${status}, expected ${expected}`;
  const { code, msg } = JSON.parse(body) as { code?: unknown; msg?: unknown };
  if (code !== (success ? 1 : -1) || msg !== form.msg) return `body ${body}, expected ${form.msg}`;
  const detail = headers.get("x-error-detail");
  return form.areViolationsSent !== undefined && (detail !== null) !== form.areViolationsSent
    ? `x-error-detail: ${detail}`
    : undefined;
}

function wrongData({ wire }: Call, { headers, body }: Answer, verdict: Verdict): string | undefined {
  if (verdict.kind !== "accepted" && verdict.kind !== "repeated") return undefined;
  const data = JSON.stringify((JSON.parse(body) as { data?: unknown }).data);
  const expected = JSON.stringify(modelAt(wire.path)?.answer(verdict.sessionId));
  if (data !== expected) return `data ${data}, expected ${expected}`;
  const header = headers.get("idempotency-replayed");
  return header === (verdict.kind === "repeated" ? "true" : null) ? undefined : `idempotency-replayed: ${header}`;
}

/** The agents that `x-ignored-agents` names, sorted. */
export const ignoredIn = ({ headers }: Answer): string[] =>
  (headers.get("x-ignored-agents") ?? "")
    .split(", ")
    .filter((each) => each !== "")
    .sort();
