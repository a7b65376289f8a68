import { integer, strictObject, string } from "./components.ts";
import { openApiDocument } from "./document.ts";
import type { JsonSchema } from "./json-schema.ts";

const DESCRIPTION = `
The signed calls alone, for programs that generate clients. Each body and each answer has a name, the format is OpenAPI 3.0, which more
generators read than 3.1, and a field that may have several types has the first of them. [openapi.json](/openapi.json) has everything.

A generated client does not sign. [Integrating](/docs/integrating/#a-generated-client) shows where yours can.
`.trim();

/** The answer to any refused call. In openapi.json each refusal has a schema of its own, which gives its message. */
const FAILURE = strictObject({
  code: integer("-1 is failure.", { const: -1 }),
  msg: string("The message of the refusal, in Chinese. Refusals with the same message differ in their status."),
  data: string("Always empty on failure.", { const: "" }),
});

interface Described {
  content: { "application/json": { schema: JsonSchema; examples?: object } };
}

interface SignedOperation {
  tags: string[];
  requestBody: Described;
  responses: Record<string, Described>;
}

type Components = Record<"schemas" | "responses" | "headers" | "securitySchemes", Record<string, unknown>>;

const SCHEMAS = "#/components/schemas/";

/** openapi.callers.json: the signed calls of openapi.json in OpenAPI 3.0, with a name for each schema of an answer and one type a field. */
export function callersDocument(version: string) {
  const whole = JSON.parse(JSON.stringify(openApiDocument(version)));
  const { schemas, responses, headers, securitySchemes } = whole.components as Components;
  const calls = Object.entries(whole.paths as Record<string, { post?: SignedOperation }>).flatMap(([path, { post }]) =>
    post?.tags.includes("Signed operations") ? [{ path, post }] : [],
  );
  const named: Record<string, unknown> = {};
  const nameSchema = ({ content }: Described, name: string) => {
    named[name] = content["application/json"].schema;
    content["application/json"].schema = { $ref: SCHEMAS + name };
  };
  for (const { post } of calls) {
    const body = post.requestBody.content["application/json"];
    const name = String(body.schema.$ref).slice(SCHEMAS.length);
    // The other examples show the other types of fields.
    body.examples = Object.fromEntries(Object.entries(body.examples ?? {}).slice(0, 1));
    named[name] = schemas[name];
    const { 200: success } = post.responses;
    if (success !== undefined) nameSchema(success, `${name}Success`);
  }
  const paths = Object.fromEntries(calls.map(({ path, post }) => [path, { post }]));
  const refusals = usedBy(paths, "responses", responses);
  for (const refusal of Object.values(refusals)) nameSchema(refusal as Described, "Failure");
  return asOpenApi30({
    openapi: "3.0.3",
    info: {
      title: "Agent Session API: the signed calls",
      version,
      description: DESCRIPTION,
      license: { name: "MIT", url: "https://opensource.org/license/mit" },
    },
    servers: whole.servers,
    tags: (whole.tags as { name: string }[]).filter(({ name }) => name === "Signed operations"),
    paths,
    components: {
      securitySchemes: { signature: securitySchemes.signature },
      schemas: { ...named, Failure: FAILURE },
      headers: usedBy({ paths, refusals }, "headers", headers),
      responses: refusals,
    },
  });
}

/** The components of a kind to which a part refers. */
function usedBy<Component>(part: object, kind: keyof Components, components: Record<string, Component>) {
  const text = JSON.stringify(part);
  return Object.fromEntries(
    Object.entries(components).filter(([name]) => text.includes(`"#/components/${kind}/${name}"`)),
  );
}

/** A document with the keywords of JSON Schema that OpenAPI 3.0 lacks in the words that it has. */
const asOpenApi30 = <Document>(document: Document): Document =>
  JSON.parse(JSON.stringify(document), (_, value) => (isSchema(value) ? schema30(value) : value));

const isSchema = (value: unknown): value is JsonSchema =>
  value instanceof Object && ("type" in value || "anyOf" in value) && !("in" in value);

function schema30({ const: only, examples, anyOf = [], propertyNames, ...rest }: JsonSchema): JsonSchema {
  // Generators for typed languages make no usable type of a choice. Every caller can send the first form. Go reads no pattern as long as
  // that of `kefu_ids`.
  const [{ format, pattern, ...firstForm } = {}] = anyOf;
  const schema: JsonSchema = { ...firstForm, ...rest };
  return {
    ...schema,
    ...(only !== undefined && { enum: [only] }),
    // Without it, generators take integers of 32 bits.
    ...(schema.type === "integer" && only === undefined && schema.enum === undefined && { format: "int64" }),
    ...(Array.isArray(examples) && { example: examples[0] }),
    ...(propertyNames !== undefined && { "x-propertyNames": propertyNames }),
  };
}
