import { modelAt } from "../../operations/index.ts";
import type { Answer, Call } from "../../world/call.ts";
import type { Verdict } from "./verdicts.ts";

/** The form of an answer: section 7 of the contract, and docs/decisions.md, "Answers". */
interface Form {
  status: number;
  msg: string;
  /** Whether `x-error-detail` is sent. Undefined when both are right. */
  told?: boolean;
}

const INVALID = "参数错误";
const UNVERIFIED = "token验证失败!";
const UNAVAILABLE = "服务暂时不可用";

export const NO_ANSWER: Form = { status: 503, msg: UNAVAILABLE };
export const LIMITED: Form = { status: 429, msg: "请求过于频繁" };

/** The form of the answer to each verdict. */
function formOf(verdict: Verdict, call: Call): Form {
  switch (verdict.kind) {
    case "home_closed":
      return NO_ANSWER;
    case "site_closed":
      return { ...NO_ANSWER, told: true };
    case "unsigned":
      return { status: 401, msg: UNVERIFIED, told: false };
    case "stale":
    case "used":
      return { status: 401, msg: UNVERIFIED, told: true };
    case "seal_unknown":
      return { status: 500, msg: "系统错误" };
    case "refused": {
      if (verdict.reason === "key_reused") return { status: 422, msg: INVALID, told: true };
      const { status = 0, msg = "" } = modelAt(call.wire.path)?.refusals[verdict.reason] ?? {};
      return { status, msg, told: true };
    }
    default:
      return { status: 200, msg: "ok", told: false };
  }
}

/** Why an answer does not fit a verdict; undefined when it does. */
export function mismatch(call: Call, answer: Answer, verdict: Verdict): string | undefined {
  return formMismatch(call, answer, formOf(verdict, call)) ?? wrongData(call, answer, verdict);
}

/** Why an answer does not have a form; undefined when it has. */
export function formMismatch({ isolate }: Call, { status, headers, body }: Answer, form: Form): string | undefined {
  const success = form.status === 200;
  const expected = isolate?.settings.errorStatus === "always-200" ? 200 : form.status;
  if (status !== expected) return `status ${status}, expected ${expected}`;
  const { code, msg } = JSON.parse(body) as { code?: unknown; msg?: unknown };
  if (code !== (success ? 1 : -1) || msg !== form.msg) return `body ${body}, expected ${form.msg}`;
  const detail = headers.get("x-error-detail");
  return form.told !== undefined && (detail !== null) !== form.told ? `x-error-detail: ${detail}` : undefined;
}

function wrongData(call: Call, { headers, body }: Answer, verdict: Verdict): string | undefined {
  if (verdict.kind !== "accepted" && verdict.kind !== "repeated") return undefined;
  const data = JSON.stringify((JSON.parse(body) as { data?: unknown }).data);
  const expected = JSON.stringify(modelAt(call.wire.path)?.answer(verdict.sessionId));
  if (data !== expected) return `data ${data}, expected ${expected}`;
  const repeated = headers.get("idempotency-replayed");
  return repeated === (verdict.kind === "repeated" ? "true" : null) ? undefined : `idempotency-replayed: ${repeated}`;
}

/** The agents that `x-ignored-agents` names, sorted. */
export const ignoredIn = ({ headers }: Answer): string[] =>
  (headers.get("x-ignored-agents") ?? "")
    .split(", ")
    .filter((each) => each !== "")
    .sort();
