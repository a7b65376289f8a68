import { CodeExample } from "../code-example.tsx";
import { Description } from "../inline.tsx";
import { headingsOf, type Page } from "../page.ts";
import { exampleOf, fieldsOf, formsOf } from "../schema.ts";
import type { Texts } from "../texts.ts";
import { FieldTable } from "./field-table.tsx";
import {
  type Answer,
  answersOf,
  headersOf,
  isForOperators,
  type OpenApi,
  type ShownCall,
  textsOfCall,
} from "./openapi.ts";
import { RefusalParts, Rows, SignedRefusals } from "./refusals.tsx";

/** The page of a call or event: what is sent and answered, and the cause and cure of each refusal. Examples stand beside it. */
export function callPage(call: ShownCall, openapi: OpenApi, pageTexts: Texts): Page {
  const texts = textsOfCall(call, pageTexts);
  const body = String(<Content call={call} openapi={openapi} texts={texts} />);
  const summary = texts.find(call.summary) ?? call.summary;
  return {
    path: call.page,
    title: isForOperators(call) ? summary : `${call.name} – ${summary}`,
    description: `${call.method.toUpperCase()} ${call.path}: ${summary}`,
    body,
    headings: headingsOf(body),
    wide: true,
  };
}

interface Props {
  call: ShownCall;
  openapi: OpenApi;
  texts: Texts;
}

function Content({ call, openapi, texts }: Props) {
  const { t } = texts;
  return (
    <>
      <p class="route">
        <span class="method">{call.method.toUpperCase()}</span> <code>{call.path}</code>
      </p>
      {texts.language === "zh" && texts.find(call.description ?? "") === undefined && (
        <p class="note">{t("The descriptions on this page are in English.")}</p>
      )}
      <Description texts={texts} text={call.description} />
      {call.kind === "signed" && (
        <p>
          <a href={texts.link("integrating#sign")}>{t("How to sign")}</a> ·{" "}
          <a href={texts.link("integrating#first-call")}>{t("Programs in six languages")}</a> ·{" "}
          <a href={texts.link("check")}>{t("Check a request")}</a>
        </p>
      )}
      {call.kind === "event" && (
        <p>
          <a href={texts.link("receiving")}>{t("How to receive events")}</a>
        </p>
      )}
      <Request call={call} openapi={openapi} texts={texts} />
      <Answers call={call} openapi={openapi} texts={texts} />
    </>
  );
}

function Request({ call, openapi, texts }: Props) {
  const { t } = texts;
  const { schemas } = openapi.components;
  const [[media, content] = []] = Object.entries(call.requestBody?.content ?? {});
  const parametersIn = (place: string) =>
    call.parameters
      .filter((parameter) => parameter.in === place)
      .map(({ name, required = false, description, schema }) => ({
        name,
        required,
        schema: { ...schema, description },
      }));
  const groups = [
    ["Path", parametersIn("path")],
    ["Query", parametersIn("query")],
    ["Headers", [...signatureHeader(call), ...parametersIn("header")]],
    ["Body", content === undefined ? [] : fieldsOf(content.schema, schemas)],
  ] as const;
  const bodies = content === undefined ? [undefined] : bodiesOf(content, schemas);
  return (
    <section class="beside">
      <div>
        <h2 id="request">{t(call.kind === "event" ? "What arrives" : "Request")}</h2>
        {groups.map(
          ([name, fields]) =>
            fields.length > 0 && (
              <>
                <h3>
                  {t(name)}
                  {name === "Body" && call.requestBody?.required === false && <small> {t("optional")}</small>}
                </h3>
                {name === "Body" && <Description texts={texts} text={call.requestBody?.description} />}
                <FieldTable texts={texts} fields={[...fields]} components={schemas} />
              </>
            ),
        )}
      </div>
      <div class="examples">
        {bodies.map((example) => (
          <CodeExample
            title={example && caption(texts, example.summary)}
            text={requestText(call, media, example?.value)}
            own={call.kind === "signed"}
            language="http"
          />
        ))}
      </div>
    </section>
  );
}

const caption = (texts: Texts, summary: string) => (summary === "" ? undefined : (texts.find(summary) ?? summary));

/** The header of the signature. openapi.json declares it as a security scheme, but callers send it like any other header. */
function signatureHeader({ kind }: ShownCall) {
  if (kind !== "signed") return [];
  const description = "HMAC-SHA256 over the bytes of the body, keyed with the app's secret: 64 hex digits.";
  return [{ name: "x-chat-signature", required: true, schema: { type: "string", description } }];
}

interface Body {
  summary: string;
  value: unknown;
}

type MediaType = NonNullable<Answer["content"]>[string];

function bodiesOf({ schema, example, examples }: MediaType, schemas: OpenApi["components"]["schemas"]): Body[] {
  if (examples !== undefined) return Object.values(examples);
  if (example !== undefined) return [{ summary: "", value: example }];
  return formsOf(schema, schemas).map((form) => ({ summary: "", value: exampleOf(form.schema, schemas) }));
}

/** The examples of an answer in the form of its media type. NDJSON has one example on each line. */
function answerTexts(media: string | undefined, bodies: Body[]): string[] {
  if (media === "application/x-ndjson") return [bodies.map(({ value }) => JSON.stringify(value)).join("\n")];
  return bodies.map(({ value }) => (media?.includes("json") ? JSON.stringify(value, null, 2) : String(value)));
}

function requestText(call: ShownCall, media: string | undefined, body: unknown): string {
  const sample = (name: string) => {
    const parameter = call.parameters.find((each) => each.in === "path" && each.name === name);
    return encodeURIComponent(String(parameter?.example ?? exampleOf(parameter?.schema ?? {}, {})));
  };
  const lines = [
    `${call.method.toUpperCase()} ${call.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => sample(name))}`,
    ...(call.kind === "admin" && call.security?.length !== 0 ? ["Authorization: Bearer …"] : []),
    ...(media === undefined ? [] : [`Content-Type: ${media}`]),
    ...(call.kind === "signed" ? ["x-chat-signature: …"] : []),
    ...call.parameters
      .filter((each) => each.in === "header" && each.example !== undefined)
      .map(({ name, example }) => `${name}: ${String(example)}`),
  ];
  return body === undefined ? lines.join("\n") : `${lines.join("\n")}\n\n${JSON.stringify(body, null, 2)}`;
}

function Answers({ call, openapi, texts }: Props) {
  const { t } = texts;
  const answers = answersOf(call, openapi);
  const isSuccess = ({ status }: { status: string }) => status.startsWith("2");
  const refusals = answers.filter((answer) => !isSuccess(answer));
  return (
    <>
      <h2 id="answers">{t(call.kind === "event" ? "Your answer" : "Answer")}</h2>
      {answers.filter(isSuccess).map(({ status, answer }) => (
        <Success texts={texts} openapi={openapi} status={status} answer={answer} />
      ))}
      {call.kind === "event" ? (
        <Rows texts={texts} answers={refusals} />
      ) : (
        <>
          <h2 id="refusals">{t("Refusals")}</h2>
          {call.kind === "signed" ? (
            <SignedRefusals call={call} texts={texts} answers={refusals} />
          ) : (
            <Rows texts={texts} answers={refusals} />
          )}
          <RefusalParts texts={texts} openapi={openapi} answers={refusals} />
        </>
      )}
    </>
  );
}

function Success(props: { texts: Texts; openapi: OpenApi; status: string; answer: Answer }) {
  const { texts, openapi, status, answer } = props;
  const { t } = texts;
  const { schemas } = openapi.components;
  const [[media, content] = []] = Object.entries(answer.content ?? {});
  const answerHeaders = headersOf([{ answer }], openapi);
  const forms = content === undefined ? [] : formsOf(content.schema, schemas);
  return (
    <section class="beside">
      <div>
        <h3 class="status good">{status}</h3>
        <Description texts={texts} text={answer.description} />
        {forms.map(({ name, schema }) => (
          <>
            {name && (
              <h4>
                <code>{name}</code>
              </h4>
            )}
            <FieldTable texts={texts} fields={fieldsOf(schema, schemas)} components={schemas} answer />
          </>
        ))}
        {answerHeaders.length > 0 && (
          <>
            <h3>{t("Headers of the answer")}</h3>
            <FieldTable texts={texts} fields={answerHeaders} components={schemas} answer />
          </>
        )}
      </div>
      <div class="examples">
        {content !== undefined &&
          answerTexts(media, bodiesOf(content, schemas)).map((text) => (
            <CodeExample text={text} title={media === "application/json" ? undefined : media} language="json" />
          ))}
      </div>
    </section>
  );
}
