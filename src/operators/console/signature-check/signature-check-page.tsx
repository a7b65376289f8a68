import { ServiceError } from "../../../core/errors.ts";
import { asHeader, checkPastedRequest, OPERATIONS, type PastedRequest } from "../../services/check-pasted-request.ts";
import { findRefusal } from "../../services/find-call.ts";
import type { PageContext } from "../env.ts";
import { readForm } from "../forms/read-form.ts";
import { showPage } from "../layout.tsx";
import { Field } from "../parts/form.tsx";
import { checkLines, type Diagnosis } from "./check-lines.ts";
import { Verdict } from "./verdict.tsx";
import { type RefusedCall, WasRefused } from "./was-refused.tsx";

const PATH = "/console/signature-check";

type FormValues = Record<string, string>;

/** The fields of the form. Other fields are dropped, because a form that comes from the sign-in page also has the admin token. */
const FIELDS = [
  "operation",
  "appid",
  "body",
  "signature",
  "content_type",
  "no_content_type",
  "content_encoding",
  "idempotency_key",
  "request",
] as const;

/** The page, filled with what a link knows of the request: `?operation=create_gd&appid=…&request=…`. */
export const signatureCheckPage = (c: PageContext): Promise<Response> => checkPage(c, c.req.query());

/** Answers with the page. A redirect would need the pasted request in a store or in the address. */
export async function postSignatureCheck(c: PageContext): Promise<Response> {
  const form = await readForm(c);
  const operation = OPERATIONS.find(({ wireName }) => wireName === form.operation);
  if (operation === undefined) return checkPage(c, form, c.var.view.t("Choose the call."));
  const { ctx, view } = c.var;
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

/** The refused call whose request id the form has; undefined without an id, or when no home that answers knows the call. */
async function refusedCallOf(c: PageContext, { request = "" }: FormValues): Promise<RefusedCall | undefined> {
  if (request === "") return undefined;
  try {
    return await findRefusal(c.var.ctx, request);
  } catch (error) {
    if (error instanceof ServiceError) return undefined;
    throw error;
  }
}

/** @param result the diagnosis, or the error text for the chosen call; undefined before the first check */
async function checkPage(c: PageContext, form: FormValues, result?: Diagnosis | string): Promise<Response> {
  const { view } = c.var;
  const { t } = view;
  const error = typeof result === "string" ? result : undefined;
  const refusedCall = await refusedCallOf(c, form);
  // The pasted request may be another request than that of the link.
  const isAbout = typeof result !== "object" || result.appid === undefined || result.appid === refusedCall?.appid;
  const call = isAbout ? refusedCall : undefined;
  const headers = [form.content_type, form.no_content_type, form.content_encoding, form.idempotency_key];
  const body = (
    <>
      {call && <WasRefused view={view} call={call} />}
      {result !== undefined && typeof result !== "string" && (
        <Verdict c={c} diagnosis={result} isKnown={call !== undefined && call.reason === result.answered?.refusedFor} />
      )}
      <section class="card">
        <p>
          {t(
            "Paste a request that was refused. The check says what the server answers and why. Nothing you paste is stored or logged, and its one-time text (ranstr) stays unused.",
          )}
        </p>
        <form method="post" action={PATH}>
          {form.request && <input type="hidden" name="request" value={form.request} />}
          <div class="field">
            <label for="operation">{t("Which call is it?")}</label>
            <select
              id="operation"
              name="operation"
              required
              autofocus={error !== undefined}
              aria-invalid={error && "true"}
              aria-describedby={error && "operation-error"}
            >
              <option value="">{t("Choose the call.")}</option>
              {OPERATIONS.map(({ wireName }) => (
                <option selected={wireName === form.operation}>{wireName}</option>
              ))}
            </select>
            {error && (
              <p class="error" id="operation-error">
                {error}
              </p>
            )}
          </div>
          <Field
            label="appid"
            name="appid"
            value={form.appid}
            hint={t("May be left empty when the body has it.")}
            maxlength={128}
            code
          />
          <Field label={t("Body, as it was sent")} name="body" value={form.body} rows={8} required code />
          <Field
            label={t("Signature (x-chat-signature)")}
            name="signature"
            value={form.signature}
            maxlength={512}
            code
          />
          <details open={headers.some((value) => value)}>
            <summary>{t("Headers")}</summary>
            <div class="headers">
              <Field
                label="Content-Type"
                name="content_type"
                value={form.content_type}
                hint={t("Left empty: application/json.")}
                maxlength={255}
                code
              />
              <div class="field">
                <label>
                  <input type="checkbox" name="no_content_type" value="on" checked={form.no_content_type === "on"} />{" "}
                  {t("Content-Type was not sent")}
                </label>
              </div>
              <Field
                label="Content-Encoding"
                name="content_encoding"
                value={form.content_encoding}
                hint={t("Left empty: none was sent.")}
                maxlength={255}
                code
              />
              <Field
                label="Idempotency-Key"
                name="idempotency_key"
                value={form.idempotency_key}
                hint={t("Left empty: none was sent.")}
                maxlength={512}
                code
              />
            </div>
          </details>
          <button type="submit">{t("Check")}</button>
        </form>
      </section>
    </>
  );
  const values = Object.fromEntries(FIELDS.map((name) => [name, form[name] ?? ""]));
  const filled = result === undefined ? undefined : { path: PATH, values };
  return showPage(c, { title: t("Signature check"), section: "check", filled, body }, error ? 400 : 200);
}
