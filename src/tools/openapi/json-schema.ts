import * as z from "zod/mini";

export type JsonSchema = {
  [keyword: string]: unknown;
  required?: string[];
  properties?: Record<string, JsonSchema>;
  anyOf?: JsonSchema[] | undefined;
};

/** By field, the keywords that its schema cannot give: descriptions, and corrections of output that would mislead a code generator. */
export type Words = Record<string, JsonSchema>;

/**
 * Turns an object schema into JSON Schema 2020-12. A refine gives its rules in `params`. `words` are merged into the fields; a keyword
 * that is undefined there is removed. The default of a body's field stands in its description.
 *
 * @param io "output" for a query: its schema reads texts and gives integers, and OpenAPI describes the integers
 * @throws Error when `words` has a field that the schema does not have, or no description for a field of the schema
 */
export function jsonSchemaOf(schema: z.ZodMiniType, words: Words, io: "input" | "output" = "input"): JsonSchema {
  const { $schema, ...json } = z.toJSONSchema(schema, {
    io,
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => {
      for (const params of refineParams(zodSchema)) addRule(jsonSchema as JsonSchema, params);
      // The pattern repeats the format, and generators of test data understand formats better.
      if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
    },
  });
  const described = json as JsonSchema & { properties: Record<string, JsonSchema> };
  for (const name of Object.keys(words)) {
    if (described.properties[name] === undefined) throw new Error(`the schema has no field ${name}`);
  }
  for (const [name, field] of Object.entries(described.properties)) {
    const said = words[name];
    if (said?.description === undefined) throw new Error(`the field ${name} has no description`);
    const { default: fallback, ...rules } = field;
    const whole: JsonSchema = { ...rules, ...said };
    if (io === "output") whole.default = fallback;
    // The default is told in words. With the keyword, client generators make the field required.
    else if (fallback !== undefined) whole.description = `${said.description}\n\nLeft out, it is ${fallback}.`;
    described.properties[name] = Object.fromEntries(Object.entries(whole).filter(([, value]) => value !== undefined));
  }
  return described;
}

/** The `params` of each refine of a schema. fields.ts sets them. */
function refineParams(schema: z.core.$ZodTypes): JsonSchema[] {
  return (schema._zod.def.checks ?? []).flatMap((check) => {
    const { params } = check._zod.def as { params?: JsonSchema };
    return params === undefined ? [] : [params];
  });
}

/** Adds a rule to a schema. In a union of list and text, a rule with `minItems` is added to the list only. */
function addRule(schema: JsonSchema, params: JsonSchema): void {
  const lists = "minItems" in params ? schema.anyOf?.filter(({ type }) => type === "array") : undefined;
  for (const target of lists ?? [schema]) Object.assign(target, params);
}
