import { settingsOf } from "../../../env.ts";
import { WIRE_ERRORS } from "../../../errors.ts";
import type { RequestContext } from "../../context.ts";
import type { Routes } from "../../new-hono.ts";
import { diagnoseRequest, type Finding, type PastedRequest } from "../diagnose-request.ts";
import { show } from "../layout.tsx";
import { Badge, Field, Notice } from "../parts.tsx";
import { readForm } from "../read-form.ts";
import { explain, lineEndsOf } from "../signature-texts.ts";
import type { View } from "../view.ts";

export function signatureCheckPage(routes: Routes): void {
  routes.get("/signature-check", (c) => checkPage(c, { appid: "", body: "", signature: "" }));

  // The page itself is the answer: a redirect would have to carry or keep what was pasted.
  routes.post("/signature-check", async (c) => {
    const { appid = "", body = "", signature = "" } = await readForm(c);
    const settings = settingsOf(c.env);
    const keyring = await c.var.isolate.credentials.keyring(settings);
    // Out of a log or `curl -v` it comes with its name.
    const pasted = { appid, body, signature: signature.replace(/^\s*x-chat-signature:/i, "") };
    return checkPage(c, pasted, await diagnoseRequest(settings, keyring, pasted, c.var.view.now));
  });
}

function checkPage(c: RequestContext, pasted: PastedRequest, findings?: Finding[]): Response {
  const v = c.var.view;
  const { t } = v;
  const body = (
    <>
      {findings && <Verdict v={v} findings={findings} />}
      <section class="card">
        <p>
          {t(
            "Paste a request that was refused. The check says what the server answers and why. Nothing you paste is stored or logged, and the ranstr stays unused.",
          )}
        </p>
        <form method="post" action="/console/signature-check">
          <Field
            label="appid"
            name="appid"
            value={pasted.appid}
            hint={t("May be left empty when the body has it.")}
            maxlength={128}
            code
          />
          <Field label={t("Body, as it was sent")} name="body" value={pasted.body} rows={8} required code />
          <Field
            label={t("Signature (x-chat-signature)")}
            name="signature"
            value={pasted.signature}
            maxlength={512}
            code
          />
          <button type="submit">{t("Check")}</button>
        </form>
      </section>
    </>
  );
  const title = t("Signature check");
  return show(c, { title, section: "check", back: "/console/signature-check", body });
}

function Verdict({ v, findings }: { v: View; findings: Finding[] }) {
  const { t } = v;
  const refusal = findings.find((finding) => finding.refusal !== undefined)?.refusal;
  const wire = refusal && WIRE_ERRORS[refusal];
  const ends = findings.map(lineEndsOf).find((each) => each !== undefined);
  const stop = findings.findIndex((finding) => finding.refusal !== undefined);
  return (
    <>
      <Notice
        kind={wire ? "bad" : ends ? "note" : "good"}
        title={
          wire
            ? t("The server answers {0} {1}", wire.status, wire.message)
            : ends
              ? t("The server accepts this request if its line ends are {0}", ends.fits)
              : t("The server accepts this request")
        }
      />
      <ol class="checks" aria-label={t("What was checked")}>
        {findings.map((finding, i) => {
          const { title, texts, signed } = explain(v, finding);
          const wrong = finding.refusal !== undefined;
          const depends = !wrong && lineEndsOf(finding) !== undefined;
          const label = depends ? t("Depends") : !wrong ? t("Fine") : i === stop ? t("Cause") : t("Also");
          return (
            <li class={wrong || depends ? "wrong" : "fine"}>
              <h2>
                {title} <Badge kind={!wrong && !depends ? "good" : i === stop ? "bad" : "wait"} label={label} />
              </h2>
              {texts.map((text) => (
                <p>{text}</p>
              ))}
              {signed !== undefined && (
                <>
                  <p>{t("This is what was signed:")}</p>
                  <pre tabindex={0}>{signed}</pre>
                </>
              )}
            </li>
          );
        })}
      </ol>
    </>
  );
}
