import { integer, strictObject, string } from "./components.ts";
import { openApiDocument } from "./document.ts";
import type { JsonSchema } from "./json-schema.ts";

const DESCRIPTION = `
The signed calls alone, for programs that generate clients: each body and each answer has a name, and the format is OpenAPI 3.0, which more
generators read than 3.1. [openapi.json](/openapi.json) has everything.

A generated client does not sign. [Integrating](/docs/integrating/#a-generated-client) shows where yours can.
`.trim();

/** The answer to any refused call. In openapi.json each refusal has a schema of its own, which gives its message. */
const FAILURE = strictObject({
  code: integer("-1 is failure.", { const: -1 }),
  msg: string("The message of the refusal, in Chinese. Refusals with the same message differ in their status."),
  data: string("Always empty on failure.", { const: "" }),
});

interface Described {
  content: { "application/json": { schema: JsonSchema } };
}

interface SignedOperation {
  tags: string[];
  requestBody: Described;
  responses: Record<string, Described>;
}

type Components = Record<"schemas" | "responses" | "headers" | "securitySchemes", Record<string, unknown>>;

const SCHEMAS = "#/components/schemas/";

/** openapi.callers.json: the signed calls of openapi.json in OpenAPI 3.0, with a name for each schema of an answer. */
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
    const name = String(post.requestBody.content["application/json"].schema.$ref).slice(SCHEMAS.length);
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
  value instanceof Object && ("type" in value || "anyOf" in value || "propertyNames" in value) && !("in" in value);

function schema30({ const: only, examples, exclusiveMinimum, exclusiveMaximum, ...schema }: JsonSchema): JsonSchema {
  const { anyOf, propertyNames, ...rest } = schema;
  const [first] = anyOf ?? [];
  // A choice between two formats of text would become a type with a case for each.
  const isOneType = first !== undefined && anyOf?.every(({ type, format }) => type === first.type && format);
  return {
    ...(isOneType ? { type: first.type } : anyOf && { anyOf }),
    ...rest,
    ...(only !== undefined && { enum: [only] }),
    ...(Array.isArray(examples) && { example: examples[0] }),
    ...(exclusiveMinimum !== undefined && { minimum: exclusiveMinimum, exclusiveMinimum: true }),
    ...(exclusiveMaximum !== undefined && { maximum: exclusiveMaximum, exclusiveMaximum: true }),
    ...(propertyNames !== undefined && { "x-propertyNames": propertyNames }),
  };
}
