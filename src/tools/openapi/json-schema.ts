import * as z from "zod/mini";
import type { DescribedSchema, JsonSchema, SchemaWords } from "../../operators/admin/words.ts";

export type { JsonSchema, SchemaWords } from "../../operators/admin/words.ts";

/**
 * Turns an object schema of an input into JSON Schema 2020-12. Rules in a `refine` are in its `params`. The default of a body's field
 * becomes part of the description.
 *
 * @param io "output" for a query: its schema reads texts and gives integers, and OpenAPI describes the integers
 * @throws Error as {@link withWords} does
 */
export function jsonSchemaOf(schema: z.ZodMiniType, words: SchemaWords, io: "input" | "output" = "input"): JsonSchema {
  const json = convert(schema, io, ({ zodSchema, jsonSchema }) => {
    for (const params of refineParams(zodSchema)) addRule(jsonSchema, params);
    // The pattern repeats the format, and generators of test data understand formats better.
    if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
  });
  const described = withWords(json, words);
  for (const field of Object.values(described.properties ?? {})) {
    if (io === "output" || field.default === undefined) continue;
    // The default is part of the description, because client generators require a field that has the keyword.
    field.description = `${field.description}\n\nLeft out, it is ${field.default}.`;
    delete field.default;
  }
  return described;
}

/**
 * Turns the schema of an answer into JSON Schema 2020-12.
 *
 * @param parts the schemas that it refers to, with their names
 * @throws Error as {@link withWords} does
 */
export function responseSchemaOf(
  schema: z.ZodMiniType,
  { fields = {}, whole }: DescribedSchema,
  parts: ReadonlyMap<unknown, string>,
): JsonSchema {
  const json = convert(schema, "output", ({ zodSchema, jsonSchema }) => {
    const name = zodSchema === (schema as unknown) ? undefined : parts.get(zodSchema);
    if (name !== undefined) return replace(jsonSchema, { $ref: `#/components/schemas/${name}` });
    // An integer of an answer has these bounds only because of its type.
    if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    joinNull(jsonSchema);
  });
  return merge(withWords(json, fields), whole ?? {});
}

type Override = (each: { zodSchema: z.core.$ZodTypes; jsonSchema: JsonSchema }) => void;

function convert(schema: z.ZodMiniType, io: "input" | "output", override: Override): JsonSchema {
  const { $schema, ...json } = z.toJSONSchema(schema, {
    io,
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => override({ zodSchema, jsonSchema: jsonSchema as JsonSchema }),
  });
  return json as JsonSchema;
}

/** Adds the words to the fields. @throws Error for words of a missing field, and for a field without a description */
function withWords(json: JsonSchema, words: SchemaWords): JsonSchema {
  const fields = json.properties ?? {};
  const described = merge(json, Object.keys(words).length === 0 ? {} : { properties: words });
  for (const name of Object.keys(fields)) {
    const { description, properties } = described.properties?.[name] ?? {};
    // An object needs no description, because its fields have one.
    if (description === undefined && properties === undefined) throw new Error(`the field ${name} has no description`);
  }
  return described;
}

/** Puts keywords of words in place of a schema's own. Words under `properties` and `items` belong to the inner schemas. */
function merge(schema: JsonSchema, words: JsonSchema): JsonSchema {
  const merged: JsonSchema = { ...schema };
  for (const [keyword, wordsOfKeyword] of Object.entries(words)) {
    const ownSchema = schema[keyword] as JsonSchema | undefined;
    if (wordsOfKeyword === undefined) delete merged[keyword];
    else if (keyword === "properties" && ownSchema !== undefined)
      merged[keyword] = mergeEach(ownSchema, wordsOfKeyword as SchemaWords);
    else if (keyword === "items" && ownSchema !== undefined)
      merged[keyword] = merge(ownSchema, wordsOfKeyword as JsonSchema);
    else merged[keyword] = wordsOfKeyword;
  }
  return merged;
}

function mergeEach(properties: JsonSchema, words: SchemaWords): Record<string, JsonSchema> {
  const merged = { ...properties } as Record<string, JsonSchema>;
  for (const [name, wordsOfProperty] of Object.entries(words)) {
    const ownSchema = merged[name];
    if (ownSchema === undefined) throw new Error(`the schema has no field ${name}`);
    merged[name] = merge(ownSchema, wordsOfProperty);
  }
  return merged;
}

/** Joins `anyOf` of a typed schema and null into one schema, as a person would write it. */
function joinNull(schema: JsonSchema): void {
  const [inner, other] = schema.anyOf ?? [];
  if (other?.type !== "null" || typeof inner?.type !== "string") return;
  const { enum: values } = inner;
  replace(schema, { ...inner, type: [inner.type, "null"], ...(Array.isArray(values) && { enum: [...values, null] }) });
}

function replace(schema: JsonSchema, other: JsonSchema): void {
  for (const keyword of Object.keys(schema)) delete schema[keyword];
  Object.assign(schema, other);
}

/** The `params` of each `refine` of a schema, which fields.ts sets. */
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
