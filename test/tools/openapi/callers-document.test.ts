import { describe, expect, it } from "vitest";
import { OPERATIONS } from "../../../src/core/operations/index.ts";
import { callersDocument } from "../../../src/tools/openapi/callers-document.ts";
import { openApiDocument } from "../../../src/tools/openapi/document.ts";

type Json = Record<string, unknown>;

const WHOLE: Json = JSON.parse(JSON.stringify(openApiDocument("1.0.0")));
const TEXT = JSON.stringify(callersDocument("1.0.0"), null, 2);
const CALLERS: Json & { paths: Json; components: Record<string, Record<string, Json>> } = JSON.parse(TEXT);

/** The part of a document at a reference. */
const at = (document: Json, $ref: string): unknown =>
  $ref
    .slice(2)
    .split("/")
    .reduce<unknown>((part, key) => (part as Json | undefined)?.[key.replaceAll("~1", "/")], document);

/** A part with all that it refers to in place of the references, in words that OpenAPI 3.0 and 3.1 share. */
const wholePart = (part: unknown, document: Json): unknown =>
  JSON.parse(JSON.stringify(part), (_, value) => {
    if (!(value instanceof Object) || Array.isArray(value)) return value;
    if (typeof value.$ref === "string") return wholePart(at(document, value.$ref), document);
    const { const: only, examples, propertyNames, "x-propertyNames": names = propertyNames, anyOf, ...schema } = value;
    const [{ format, pattern, ...firstForm } = {} as Json] = anyOf ?? [];
    return {
      ...firstForm,
      ...schema,
      format: schema.format === "int64" ? undefined : schema.format,
      enum: only === undefined ? (schema.enum ?? firstForm.enum) : [only],
      example: schema.example ?? Object.values(examples ?? {})[0],
      names,
    };
  });

const withoutMessage = ({ content, ...response }: Json): Json => {
  const { schema, ...media } = (content as Record<string, Json>)["application/json"] as Json & { schema: Json };
  const { properties, ...rest } = schema as { properties: Record<string, Json> };
  const { msg, ...fields } = properties;
  return { ...response, media, schema: { ...rest, properties: fields }, msg: msg?.type };
};

describe("openapi.callers.json", () => {
  it("openapi.callers.json has exactly the signed calls, under 60 kB, with a name for each schema of a body and of an answer", () => {
    expect(Object.keys(CALLERS.paths)).toEqual(OPERATIONS.map(({ path }) => path));
    expect(Buffer.byteLength(TEXT)).toBeLessThan(60_000);
    expect(TEXT).not.toMatch(/\/admin|webhook/i);
    expect(Object.keys(CALLERS.components.schemas ?? {})).toEqual([
      "CreateSession",
      "CreateSessionSuccess",
      "AddAgents",
      "AddAgentsSuccess",
      "Failure",
    ]);
    const schemas = [...TEXT.matchAll(/"application\/json": \{\s*"schema": \{\s*"(\$?\w+)"/g)].map(([, key]) => key);
    expect(new Set(schemas)).toEqual(new Set(["$ref"]));
  });

  it("each reference of openapi.callers.json leads to a component, and each component is referred to", () => {
    const references = new Set([...TEXT.matchAll(/"\$ref": "([^"]+)"/g)].map(([, to = ""]) => to));
    for (const to of references) expect([to, at(CALLERS, to)]).toEqual([to, expect.any(Object)]);
    const { securitySchemes, ...components } = CALLERS.components;
    const all = Object.entries(components).flatMap(([kind, of]) =>
      Object.keys(of).map((name) => `#/components/${kind}/${name}`),
    );
    expect(all.sort()).toEqual([...references].sort());
    expect(Object.keys(securitySchemes ?? {})).toEqual(["signature"]);
  });

  it("each call of openapi.callers.json is that of openapi.json: body, headers, answers and refusals", () => {
    expect(wholePart(CALLERS.components.securitySchemes, CALLERS)).toEqual(
      wholePart({ signature: at(WHOLE, "#/components/securitySchemes/signature") }, WHOLE),
    );
    for (const { path } of OPERATIONS) {
      const [{ responses: mine, ...call }, { responses: theirs, ...original }] = [CALLERS, WHOLE].map((document) => {
        const { post } = wholePart((document.paths as Json)[path], document) as { post: Json & { responses: Json } };
        return post;
      }) as [Json & { responses: Record<string, Json> }, Json & { responses: Record<string, Json> }];
      expect(call).toEqual(original);
      expect(mine[200]).toEqual(theirs[200]);
      expect(Object.keys(mine)).toEqual(Object.keys(theirs));
      for (const status of Object.keys(mine).filter((each) => each !== "200" && /^\d/.test(each)))
        expect(withoutMessage(mine[status] ?? {})).toEqual(withoutMessage(theirs[status] ?? {}));
    }
  });

  it("each field of openapi.callers.json has one type, and an integer has 64 bits", () => {
    expect(TEXT).not.toMatch(/"(?:anyOf|oneOf|allOf)"/);
    const kinds = [...TEXT.matchAll(/"type": "integer",[^}]*/g)].map(([schema]) =>
      /"format": "int64"|"enum"/.test(schema),
    );
    expect(new Set(kinds)).toEqual(new Set([true]));
  });

  it("openapi.callers.json has no keyword that OpenAPI 3.0 lacks", () => {
    expect(CALLERS.openapi).toMatch(/^3\.0\./);
    expect(TEXT).not.toMatch(/"(?:const|propertyNames|webhooks)":|"examples": \[|"type": \[|"exclusiveM\w+": -?\d/);
  });
});
