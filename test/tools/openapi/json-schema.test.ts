import { describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { jsonSchemaOf, responseSchemaOf } from "../../../src/tools/openapi/json-schema.ts";

const part = z.object({ id: z.int() });
const schema = z.object({
  at: z.nullable(z.int()),
  status: z.nullable(z.enum(["open", "closed"])),
  items: z.array(part),
  who: z.object({ name: z.string() }),
});
const fields = {
  at: { description: "When.", examples: [1] },
  status: { description: "How." },
  items: { description: "All." },
  who: { properties: { name: { description: "The name." } } },
};
const parts = new Map<unknown, string>([[part, "Part"]]);

describe("the schema of an answer in openapi.json", () => {
  it("the schema of an answer has null as a type, and refers to its parts by name", () => {
    expect(responseSchemaOf(schema, { name: "Whole", fields }, parts)).toEqual({
      type: "object",
      properties: {
        at: { type: ["integer", "null"], description: "When.", examples: [1] },
        status: { type: ["string", "null"], enum: ["open", "closed", null], description: "How." },
        items: { type: "array", items: { $ref: "#/components/schemas/Part" }, description: "All." },
        who: {
          type: "object",
          properties: { name: { type: "string", description: "The name." } },
          required: ["name"],
          additionalProperties: false,
        },
      },
      required: ["at", "status", "items", "who"],
      additionalProperties: false,
    });
  });

  it.each([
    ["a field without words", { ...fields, at: {} }, "the field at has no description"],
    ["words of a field that is not there", { ...fields, gone: { description: "?" } }, "the schema has no field gone"],
  ])("the schema of an answer is refused with %s", (_, words, fault) => {
    expect(() => responseSchemaOf(schema, { name: "Whole", fields: words }, parts)).toThrow(fault);
  });
});

it("the schema of a body has a field's default in the description", () => {
  const body = z.strictObject({ limit: z._default(z.int(), 20) });
  expect(jsonSchemaOf(body, { limit: { description: "How many." } }).properties?.limit).toMatchObject({
    description: "How many.\n\nLeft out, it is 20.",
  });
});
