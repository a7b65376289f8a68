import Ajv2020 from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { answersOf, callsOf } from "../../../src/tools/docs/reference/openapi.ts";
import { exampleOf, fieldsOf, formsOf, resolve, ruleTexts, typeText } from "../../../src/tools/docs/schema.ts";
import { textsOf } from "../../../src/tools/docs/texts.ts";
import { openapi } from "./site.ts";

const { t } = textsOf("en", {});
const { schemas } = openapi.components;
const ajv = new Ajv2020({ strict: false, validateFormats: false });
ajv.addSchema({ $id: "openapi", components: { schemas } });

/** The schemas of all bodies of requests and answers. */
const BODIES = callsOf(openapi).flatMap((call) => [
  ...Object.values(call.requestBody?.content ?? {}),
  ...answersOf(call, openapi).flatMap(({ answer }) => Object.values(answer.content ?? {})),
]);

describe("what the reference says of a schema", () => {
  it("the reference has for each body and each of its forms an example that the schema allows", () => {
    expect(BODIES.length).toBeGreaterThan(100);
    const forms = BODIES.flatMap(({ schema }) => formsOf(schema, schemas));
    // Each schema is compiled once, because most bodies are the same few problems.
    const different = new Map(forms.map((form) => [JSON.stringify(form.schema), form]));
    const wrong = [...different].flatMap(([text, form]) => {
      const example = exampleOf(form.schema, schemas);
      const whole = JSON.parse(text.replaceAll("#/components", "openapi#/components"));
      return ajv.validate(whole, example) ? [] : [[form.name, example, ajv.errorsText()]];
    });
    expect(wrong).toEqual([]);
  });

  it("the reference has each field of each body under its name, with a type", () => {
    for (const { schema } of BODIES) {
      for (const form of formsOf(schema, schemas)) {
        const fields = fieldsOf(form.schema, schemas);
        if (resolve(form.schema, schemas).type !== "string")
          expect([form.schema, fields.length]).not.toEqual([form.schema, 0]);
        for (const field of fields)
          expect([field.name, typeText(t, field.schema, schemas)]).not.toEqual([field.name, ""]);
      }
    }
  });

  it("the reference distinguishes the forms of a body", () => {
    expect(formsOf(schemas.ExportLine, schemas).map(({ name }) => name)).toEqual([
      "kind: site",
      "kind: agent",
      "kind: app",
      "kind: customer",
      "kind: session",
      "kind: end",
    ]);
    expect(formsOf(schemas.FoundCall, schemas).map(({ name }) => name)).toEqual(["RefusedCall", "AcceptedCall"]);
  });

  it.each([
    [{ type: "string", minLength: 1, maxLength: 64 }, ["1 to 64 characters"]],
    [{ type: "string", maxLength: 500 }, ["at most 500 characters"]],
    [{ type: "array", minItems: 1, maxItems: 100 }, ["1 to 100 items"]],
    [{ type: "integer", enum: [1, 2, 3] }, ["one of `1`, `2`, `3`"]],
    [{ type: "string", enum: ["site"] }, ["always `site`"]],
    [{ type: "integer", minimum: 1, maximum: Number.MAX_SAFE_INTEGER }, []],
    [{ type: "integer", minimum: 1, maximum: 3650 }, ["1 to 3650"]],
    [{ type: "integer", default: 20, minimum: 1, maximum: 100 }, ["1 to 100", "`20` when left out"]],
    [{ anyOf: [{ type: "string", minLength: 1, maxLength: 64 }, { type: "integer" }] }, ["1 to 64 characters"]],
    [{ type: "object", additionalProperties: { maxLength: 500 } }, ["each value a string of at most 500 characters"]],
  ])("the reference says the rules of %j in words", (schema, rules) => {
    expect(ruleTexts(t, schema, {})).toEqual(rules);
  });

  it.each([
    [{ type: ["integer", "null"] }, "integer or null"],
    [{ type: "array", items: { type: "integer" } }, "array of integer"],
    [{ anyOf: [{ type: "null" }, { $ref: "#/components/schemas/Site" }] }, "null or object"],
    [{ const: 1 }, "integer"],
  ])("the reference says the type of %j in words", (schema, type) => {
    expect(typeText(t, schema, schemas)).toBe(type);
  });
});
