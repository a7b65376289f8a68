import { ServiceError } from "../../../core/errors.ts";
import { asHeader, checkPastedRequest, OPERATIONS, type PastedRequest } from "../../services/check-pasted-request.ts";
import { findRefusal } from "../../services/find-call.ts";
import type { PageContext } from "../env.ts";
import { showPage } from "../layout.tsx";
import { type Fields, FormFields, Hidden } from "../parts/form.tsx";
import { checkLines, type Diagnosis } from "./check-lines.ts";
import { Verdict, WasRefused } from "./verdict.tsx";

const PATH = "/console/signature-check";

type FormValues = Record<string, string>;

/** The page, filled with what a link knows of the request: `?operation=create_gd&appid=…&request=…`. */
export const signatureCheckPage = (c: PageContext): Promise<Response> => checkPage(c, c.req.query());

/** Answers with the page. A redirect would need the pasted request in a store or in the address. */
export async function postSignatureCheck(c: PageContext): Promise<Response> {
  const { ctx, view, form } = c.var;
  const operation = OPERATIONS.find(({ wireName }) => wireName === form.operation);
  if (operation === undefined) return checkPage(c, form, c.var.view.t("Choose the call."));
  const pasted = pastedOf(operation, form);
  const checked = await checkPastedRequest(ctx, pasted);
  const lines = checkLines(view, pasted, checked, ctx.config.timestampToleranceSeconds);
  return checkPage(c, form, { ...lines, appid: checked.appid || undefined });
}

/** The pasted request. A header that was copied from a log or from `curl -v` begins with its name, which is removed. */
function pastedOf(operation: PastedRequest["operation"], form: FormValues): PastedRequest {
  const header = (name: string, value = "") =>
    asHeader(value.replace(new RegExp(`^\\s*${name}:`, "i"), "")) || undefined;
  return {
    operation,
    appid: form.appid ?? "",
    body: form.body ?? "",
    signature: (form.signature ?? "").replace(/^\s*x-chat-signature:/i, ""),
    contentType: form.no_content_type ? null : header("content-type", form.content_type),
    contentEncoding: header("content-encoding", form.content_encoding),
    idempotencyKey: header("idempotency-key", form.idempotency_key),
  };
}

/** The refused call with this request id; undefined when no home that answers knows the call. */
const refusedCallOf = (c: PageContext, requestId: string) =>
  findRefusal(c.var.ctx, requestId).catch((error: unknown) => {
    if (!(error instanceof ServiceError)) throw error;
  });

/** @param result the diagnosis, or the error text for the chosen call; undefined before the first check */
async function checkPage(c: PageContext, form: FormValues, result?: Diagnosis | string): Promise<Response> {
  const { t } = c.var;
  const refusedCall = (form.request && (await refusedCallOf(c, form.request))) || undefined;
  const diagnosis = typeof result === "object" ? result : undefined;
  // The pasted request may be another request than that of the link.
  const call = (diagnosis?.appid ?? refusedCall?.appid) === refusedCall?.appid ? refusedCall : undefined;
  const calls = OPERATIONS.map(({ wireName }): [string, string] => [wireName, wireName]);
  const fields: Fields = {
    operation: { label: t("Which call is it?"), required: true, options: [["", t("Choose the call.")], ...calls] },
    appid: { label: "appid", hint: t("May be left empty when the body has it."), maxlength: 128, code: true },
    body: { label: t("Body, as it was sent"), rows: 8, required: true, code: true },
    signature: { label: t("Signature (x-chat-signature)"), maxlength: 512, code: true },
  };
  const notSent = t("Left empty: none was sent.");
  const headers: Fields = {
    content_type: { label: "Content-Type", hint: t("Left empty: application/json."), maxlength: 255, code: true },
    no_content_type: { label: t("Content-Type was not sent"), type: "checkbox" },
    content_encoding: { label: "Content-Encoding", hint: notSent, maxlength: 255, code: true },
    idempotency_key: { label: "Idempotency-Key", hint: notSent, maxlength: 512, code: true },
  };
  // Other fields are dropped, because a form that comes from the sign-in page also has the admin token.
  const names = [...Object.keys(fields), ...Object.keys(headers), "request"];
  const values = Object.fromEntries(names.map((name) => [name, form[name] ?? ""]));
  const filled = { path: PATH, values, errors: typeof result === "string" ? { operation: result } : {} };
  const body = (
    <>
      {call && <WasRefused call={call} />}
      {diagnosis && <Verdict c={c} diagnosis={diagnosis} known={call?.reason} />}
      <section class="card">
        <p>
          {t(
            "Paste a request that was refused. The check says what the server answers and why. Nothing you paste is stored or logged, and its one-time text (ranstr) stays unused.",
          )}
        </p>
        <form method="post" action={PATH}>
          <Hidden values={form.request ? { request: form.request } : undefined} />
          <FormFields fields={fields} filled={filled} />
          <details open={Object.keys(headers).some((name) => form[name])}>
            <summary>{t("Headers")}</summary>
            <div class="headers">
              <FormFields fields={headers} filled={filled} />
            </div>
          </details>
          <button type="submit">{t("Check")}</button>
        </form>
      </section>
    </>
  );
  return showPage(c, { title: t("Signature check"), section: "check", filled: result ? filled : undefined, body });
}
