import { modelAt } from "../../operations/index.ts";
import type { Refusal } from "../../operations/shared/model.ts";
import type { Answer, Call } from "../../world/call.ts";
import type { Verdict } from "./verdicts.ts";

/** The form of an answer: section 7 of the contract, and docs/decisions.md, "Answers". */
interface Form {
  status: number;
  msg: string;
  /** Whether `x-error-detail` is sent. Undefined when both are right. */
  told?: boolean | undefined;
  /** The text of `x-error-detail`. */
  detail?: RegExp | undefined;
}

const INVALID = "参数错误";
const UNVERIFIED = "token验证失败!";
const UNAVAILABLE = "服务暂时不可用";

export const NO_ANSWER: Form = { status: 503, msg: UNAVAILABLE };
export const LIMITED: Form = { status: 429, msg: "请求过于频繁" };

/** The form of the answer to each verdict. */
function formOf(verdict: Verdict, call: Call): Form {
  switch (verdict.kind) {
    case "unreadable":
      if (verdict.status === 404) return { status: 404, msg: "接口不存在", told: true };
      if (verdict.status === 405) return { status: 405, msg: "请求方法错误" };
      return { status: verdict.status, msg: INVALID, told: true };
    case "home_closed":
      return NO_ANSWER;
    case "site_closed":
      return { ...NO_ANSWER, told: true };
    case "unsigned":
      // The detail may only say that the signature has a wrong form, which depends on no secret.
      return {
        status: 401,
        msg: UNVERIFIED,
        told: !/^[0-9a-f]{64}$/i.test(call.wire.headers["x-chat-signature"] ?? ""),
      };
    case "stale":
    case "used":
      return { status: 401, msg: UNVERIFIED, told: true };
    case "freshness_malformed":
    case "fields_malformed":
      return { status: 400, msg: INVALID, told: true };
    case "seal_unknown":
      return { status: 500, msg: "系统错误" };
    case "refused":
      if (verdict.reason === "key_reused") return { status: 422, msg: INVALID, told: true };
      return { ...(modelAt(call.wire.path)?.refusals[verdict.reason] as Refusal), told: true };
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
  const envelope = parse(body);
  if (envelope?.code !== (success ? 1 : -1) || envelope.msg !== form.msg) return `body ${body}, expected ${form.msg}`;
  if (!success && envelope.data !== "") return `data ${JSON.stringify(envelope.data)} of a failure`;
  if (form.told !== undefined && headers.has("x-error-detail") !== form.told) {
    return `x-error-detail: ${headers.get("x-error-detail")}`;
  }
  if (form.detail !== undefined && !form.detail.test(headers.get("x-error-detail") ?? "")) {
    return `x-error-detail: ${headers.get("x-error-detail")}, expected ${form.detail}`;
  }
  if (form.status === NO_ANSWER.status || form === LIMITED) {
    if (!/^[1-9][0-9]*$/.test(headers.get("retry-after") ?? "")) return `Retry-After: ${headers.get("retry-after")}`;
  }
  if (form.status === 405 && headers.get("allow") !== "POST") return `Allow: ${headers.get("allow")}`;
  if (headers.get("x-request-id") === null) return "no x-request-id";
  return undefined;
}

function wrongData(call: Call, { headers, body }: Answer, verdict: Verdict): string | undefined {
  if (verdict.kind !== "accepted" && verdict.kind !== "repeated") return undefined;
  const data = JSON.stringify(parse(body)?.data);
  const expected = JSON.stringify(modelAt(call.wire.path)?.answer(verdict.sessionId));
  if (data !== expected) return `data ${data}, expected ${expected}`;
  const repeated = headers.get("idempotency-replayed");
  if (repeated !== (verdict.kind === "repeated" ? "true" : null)) return `idempotency-replayed: ${repeated}`;
  return undefined;
}

/** The agents that `x-ignored-agents` names, sorted. */
export const ignoredIn = ({ headers }: Answer): string[] =>
  (headers.get("x-ignored-agents") ?? "")
    .split(", ")
    .filter((each) => each !== "")
    .sort();

function parse(body: string): { code?: unknown; msg?: unknown; data?: unknown } | undefined {
  try {
    return JSON.parse(body) as { code?: unknown; msg?: unknown; data?: unknown };
  } catch {
    return undefined;
  }
}
