import { isSignedErrorCode, type SignedErrorCode, WIRE_ERRORS } from "../../../core/errors.ts";
import { DOCUMENTED } from "../../../core/operations/index.ts";
import { failuresOf } from "../../openapi/failures.ts";
import { Description, Inline } from "../inline.tsx";
import { fieldsOf } from "../schema.ts";
import type { Texts } from "../texts.ts";
import { FieldTable } from "./field-table.tsx";
import { type Answers, headersOf, type OpenApi, type ShownCall } from "./openapi.ts";

/** The parts that all refusals of a call share: their headers, and the fields of their bodies. */
export function RefusalParts({ texts, openapi, answers }: { texts: Texts; openapi: OpenApi; answers: Answers }) {
  const { t } = texts;
  const { schemas } = openapi.components;
  const bodies = answers.flatMap(({ answer }) => Object.values(answer.content ?? {}));
  const fields = bodies.flatMap(({ schema }) => fieldsOf(schema, schemas));
  // Each answer has its own fixed values, so the shared field is shown without a value.
  const each = new Map(
    fields.map(({ name, schema }) => [
      `${name} ${String(schema.description)}`,
      { name, required: false, schema: { ...schema, const: undefined } },
    ]),
  );
  return (
    <>
      <h3>{t("Headers of the answer")}</h3>
      <FieldTable texts={texts} fields={headersOf(answers, openapi)} components={schemas} answer />
      <h3>{t("Body")}</h3>
      <FieldTable texts={texts} fields={[...each.values()]} components={schemas} answer />
    </>
  );
}

export function SignedRefusals({ call, texts, answers }: { call: ShownCall; texts: Texts; answers: Answers }) {
  const { t } = texts;
  const documented = DOCUMENTED.filter(({ operation }) => operation.path === call.path);
  const codes = answers.map(({ component }) => component as SignedErrorCode).filter(isSignedErrorCode);
  return (
    <>
      <p>
        <Inline text={t("The body of each is `{0}` with its own `msg`.", '{"code":-1,"msg":"…","data":""}')} />{" "}
        <a href={texts.link("errors#details")}>{t("What x-error-detail says")}</a>
      </p>
      <div class="scroll" tabindex={0}>
        <table class="refusals">
          <thead>
            <tr>
              <th>{t("Answer")}</th>
              <th>{t("Cause")}</th>
              <th>{t("Cure")}</th>
            </tr>
          </thead>
          {codes.map((code) => {
            const { causes, name } = failuresOf(code, documented);
            const { status, message } = WIRE_ERRORS[code];
            return (
              <tbody>
                {causes.map(({ cause, cure }, index) => (
                  <tr>
                    {index === 0 && (
                      <th scope="rowgroup" rowspan={causes.length}>
                        <a href={texts.link(`errors#${code}`)}>
                          <span class="status bad">{status}</span> <code>{message}</code>
                        </a>
                        {t(name) !== message && <small>{t(name)}</small>}
                      </th>
                    )}
                    <td>
                      <Inline text={t(cause)} />
                    </td>
                    <td>
                      <Inline text={t(cure)} />
                    </td>
                  </tr>
                ))}
              </tbody>
            );
          })}
        </table>
      </div>
    </>
  );
}

export function Rows({ texts, answers }: { texts: Texts; answers: Answers }) {
  return (
    <div class="scroll" tabindex={0}>
      <table class="refusals">
        <tbody>
          {answers.map(({ status, answer: { description, content } }) => {
            const [media] = Object.values(content ?? {});
            const example = media?.example;
            return (
              <tr>
                <th scope="row">
                  <span class={status.startsWith("2") ? "status good" : "status bad"}>{status}</span>
                </th>
                <td>
                  <Description texts={texts} text={description} />
                  {example !== undefined && <code>{JSON.stringify(example)}</code>}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
