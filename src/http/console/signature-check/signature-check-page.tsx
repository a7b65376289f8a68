import { alwaysStatus200 } from "../../../config.ts";

import { type SignedErrorCode, WIRE_ERRORS } from "../../../errors.ts";
import { checkPastedRequest, OPERATIONS } from "../../../services/check-pasted-request.ts";
import type { PageContext } from "../env.ts";
import { readForm } from "../forms/read-form.ts";

import { showPage } from "../layout.tsx";
import { Field } from "../parts/form.tsx";
import { Badge, NoticeBox } from "../parts/parts.tsx";
import { checkLines, codeOf, type Diagnosis, refusalText } from "./check-lines.ts";

const PATH = "/console/signature-check";

type Form = Record<string, string>;

export const signatureCheckPage = (c: PageContext): Promise<Response> => checkPage(c, c.req.query());

/** Answers with the page. A redirect would need the pasted request stored, or in the address. */
export async function postSignatureCheck(c: PageContext): Promise<Response> {
  const form = await readForm(c);
  const { appid = "", body = "", signature = "" } = form;
  const operation = OPERATIONS.find(({ wireName }) => wireName === form.operation);
  if (operation === undefined) return checkPage(c, form, c.var.view.t("Choose the call."));
  const { ctx, view } = c.var;
  // A header that was copied from a log or from `curl -v` begins with its name.
  const pasted = { operation, appid, body, signature: signature.replace(/^\s*x-chat-signature:/i, "") };
  const checked = await checkPastedRequest(ctx, pasted);
  return checkPage(c, form, checkLines(view, pasted, checked, ctx.config.timestampToleranceSeconds));
}

/** @param result the findings, or the error of the chosen call; undefined before the first check */
function checkPage(c: PageContext, form: Form, result?: Diagnosis | string): Promise<Response> {
  const { t } = c.var.view;
  const error = typeof result === "string" ? result : undefined;
  const body = (
    <>
      {result !== undefined && typeof result !== "string" && <Verdict c={c} diagnosis={result} />}
      <section class="card">
        <p>
          {t(
            "Paste a request that was refused. The check says what the server answers and why. Nothing you paste is stored or logged, and the ranstr stays unused.",
          )}
        </p>
        <form method="post" action={PATH}>
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
          <button type="submit">{t("Check")}</button>
        </form>
      </section>
    </>
  );
  // The other fields are dropped: after a new sign-in the form is that of the sign-in page, which holds the admin token.
  const { operation = "", appid = "", body: pasted = "", signature = "" } = form;
  const values = { operation, appid, body: pasted, signature };
  const filled = result === undefined ? undefined : { path: PATH, values };
  return showPage(c, { title: t("Signature check"), section: "check", filled, body }, error ? 400 : 200);
}

function Verdict({ c, diagnosis: { answered, lines } }: { c: PageContext; diagnosis: Diagnosis }) {
  const { t } = c.var.view;
  const wireOf = (refusal: SignedErrorCode) => {
    const { status, message } = WIRE_ERRORS[refusal];
    return [alwaysStatus200(c.env) ? 200 : status, message];
  };
  const refused = lines.filter(({ refusal }) => refusal !== undefined);
  const [stop, next] = refused;
  const ends = lines.find((line) => line.ends)?.ends;
  const { sessionId, refusedFor } = answered ?? {};
  const wanted = refused.find(({ outcome }) => outcome !== undefined && outcome === refusedFor);
  // A pasted request is often stale only because of its age now. So the cause back then was its next error, if it has one.
  const cause = answered ? wanted : stop?.outdated === "late" ? (next ?? stop) : stop;
  const mayBeAnother = (
    <p>
      {t("If you sent this ranstr before with other bytes, this one was answered {0} {1}", ...wireOf("token_invalid"))}
    </p>
  );
  return (
    <>
      {refusedFor && (
        <NoticeBox kind="bad" title={t("A call with this ranstr was answered {0} {1}", ...wireOf(codeOf(refusedFor)))}>
          <p>
            {refusedFor === "key_reused"
              ? refusalText(c.var.view, refusedFor)
              : (cause?.texts ??
                t("What it was refused for has changed since: {0}", refusalText(c.var.view, refusedFor)))}
          </p>
          {mayBeAnother}
        </NoticeBox>
      )}
      {sessionId && (
        <NoticeBox kind="good" title={t("A call with this ranstr was accepted: session {0}", sessionId)}>
          {mayBeAnother}
          <p>
            <a href={`/console/sites/${answered?.siteId}/sessions/${sessionId}`}>{t("To the session")}</a>
          </p>
        </NoticeBox>
      )}
      <NoticeBox
        kind={answered || (ends && !stop) ? "note" : stop ? "bad" : "good"}
        title={
          stop?.refusal
            ? t("Sent now, the server answers {0} {1}", ...wireOf(stop.refusal))
            : ends
              ? t("Sent now, the server accepts this request if its line ends are {0}", ends.fits)
              : t("Sent now, the server accepts this request")
        }
      >
        {answered ? (
          <p>
            {t(
              "A ranstr can be used once: sent again, the same bytes are refused, whatever they were answered first. Each try needs a new ranstr, the time of the try and a new signature.",
            )}
          </p>
        ) : (
          stop?.outdated && (
            <p>
              {next?.refusal
                ? t("With a fresh timestamp it answers {0} {1}.", ...wireOf(next.refusal))
                : t("With a fresh timestamp it accepts the request.")}
            </p>
          )
        )}
      </NoticeBox>
      <ol class="checks" aria-label={t("What was checked")}>
        {lines.map((line) => {
          const depends = !line.refusal && line.ends;
          const also = answered || line.outdated === "late" ? t("If sent again") : t("Also");
          const label = line.notEvaluated
            ? t("Not evaluated")
            : depends
              ? t("Depends")
              : !line.refusal
                ? t("Fine")
                : line === cause
                  ? t("Cause")
                  : also;
          return (
            <li class={line.refusal || depends ? "wrong" : "fine"}>
              <h2>
                {line.title}{" "}
                <Badge
                  kind={line === cause ? "bad" : line.refusal || depends ? "wait" : line.notEvaluated ? "off" : "good"}
                  label={label}
                />
              </h2>
              {line.texts.map((text) => (
                <p>{text}</p>
              ))}
              {line.signed !== undefined && (
                <>
                  <p>{t("This is what was signed:")}</p>
                  <pre tabindex={0}>{line.signed}</pre>
                </>
              )}
            </li>
          );
        })}
      </ol>
    </>
  );
}
