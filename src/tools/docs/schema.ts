import type { JsonSchema } from "../openapi/json-schema.ts";
import { type Texts, textsOf } from "./texts.ts";

type Translate = Texts["t"];

/** Schemas by the names that `$ref` uses. */
export type Components = Record<string, JsonSchema>;

const SCHEMA_REF_PREFIX = "#/components/schemas/";

/** Replaces a reference by its schema. Any other schema is returned as it is. */
export function resolve(schema: JsonSchema, components: Components): JsonSchema {
  const { $ref } = schema;
  if (typeof $ref !== "string") return schema;
  const target = components[$ref.slice(SCHEMA_REF_PREFIX.length)];
  if (target === undefined) throw new Error(`openapi.json has no ${$ref}`);
  return target;
}

const listOf = <Value>(value: unknown): Value[] => (Array.isArray(value) ? value : []);
const alternatives = (schema: JsonSchema): JsonSchema[] => [
  ...listOf<JsonSchema>(schema.anyOf),
  ...listOf<JsonSchema>(schema.oneOf),
];

/** The type of a schema's values in a few words: `string`, `array of integers`, `integer or null`. */
export function typeText(t: Translate, schemaOrRef: JsonSchema, components: Components): string {
  const schema = resolve(schemaOrRef, components);
  const { type, items } = schema;
  if (Array.isArray(type)) return [...new Set(type.map((each) => t(String(each))))].join(t(" or "));
  if (type === "array") {
    const inner = typeText(t, (items as JsonSchema) ?? {}, components);
    return t("array of {0}", inner);
  }
  if (typeof type === "string") return t(type);
  const types = alternatives(schema).map((each) => typeText(t, each, components));
  if (types.length > 0) return [...new Set(types)].join(t(" or "));
  return schema.const === undefined ? "" : t(typeof schema.const === "number" ? "integer" : typeof schema.const);
}

const groupDigits = (number: number) => (number > 9_999 ? number.toLocaleString("en") : String(number));

/** The rules of a schema in words, one text each: `1 to 64 characters`. */
export function ruleTexts(t: Translate, schemaOrRef: JsonSchema, components: Components): string[] {
  const schema = resolve(schemaOrRef, components);
  const numberOf = (name: string) => (typeof schema[name] === "number" ? Number(schema[name]) : undefined);
  const range = (least: number | undefined, most: number | undefined, what: string) => {
    if (most === undefined) return least ? [t(`at least {0} ${what}`, least)] : [];
    return [least ? t(`{0} to {1} ${what}`, least, groupDigits(most)) : t(`at most {0} ${what}`, groupDigits(most))];
  };
  const [least, most] = [numberOf("minimum"), numberOf("maximum")];
  const rules = [
    ...(onlyValue(schema) === undefined ? [] : [t("always {0}", code(onlyValue(schema)))]),
    ...(Array.isArray(schema.enum) && schema.enum.length > 1
      ? [t("one of {0}", schema.enum.map(code).join(t(", ")))]
      : []),
    ...range(numberOf("minLength"), numberOf("maxLength"), "characters"),
    ...range(numberOf("minItems"), numberOf("maxItems"), "items"),
    ...range(numberOf("minProperties"), numberOf("maxProperties"), "pairs"),
    ...(least !== undefined && most !== undefined && most < Number.MAX_SAFE_INTEGER
      ? [t("{0} to {1}", groupDigits(least), groupDigits(most))]
      : []),
    // No text says that a count or an id is not negative, because readers know it.
    ...(isReadable(schema.pattern) ? [t("like {0}", code(schema.pattern))] : []),
    ...itemRules(t, schema, components),
    ...pairRules(t, schema),
    ...(schema.default === undefined ? [] : [t("{0} when left out", code(schema.default))]),
  ];
  if (rules.length > 0) return rules;
  const inner = alternatives(schema).filter((each) => each.pattern === undefined);
  return [...new Set(inner.flatMap((each) => ruleTexts(t, { ...each, exclusiveMinimum: undefined }, components)))];
}

/** Whether people can read a pattern. A long pattern is for programs: it is in openapi.json, and the description says the same in words. */
const isReadable = (pattern: unknown) => typeof pattern === "string" && pattern.length <= 50;

/** The values that the items of a list may have. */
function itemRules(t: Translate, { items }: JsonSchema, components: Components): string[] {
  const values = items === undefined ? undefined : resolve(items as JsonSchema, components).enum;
  return Array.isArray(values) ? [t("each one of {0}", values.map(code).join(t(", ")))] : [];
}

/** The rules of an object whose names the caller chooses. */
function pairRules(t: Translate, { propertyNames, additionalProperties }: JsonSchema): string[] {
  const { pattern } = (propertyNames ?? {}) as JsonSchema;
  const { maxLength } = (additionalProperties ?? {}) as JsonSchema;
  return [
    ...(pattern === undefined ? [] : [t("each name like {0}", code(pattern))]),
    ...(maxLength === undefined ? [] : [t("each value a string of at most {0} characters", Number(maxLength))]),
  ];
}

const code = (value: unknown) => `\`${typeof value === "string" ? value : JSON.stringify(value)}\``;

/** A field of a schema, or of an object or list inside it: `data.participants[].agent_id`. */
export interface Field {
  name: string;
  schema: JsonSchema;
  required: boolean;
}

/** The fields of a schema in order. The inner fields of a field follow it. */
export function fieldsOf(schemaOrRef: JsonSchema, components: Components, prefix = ""): Field[] {
  const schema = resolve(schemaOrRef, components);
  const required = new Set(schema.required ?? []);
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => [
    { name: prefix + name, schema: property, required: required.has(name) },
    ...nestedFields(resolve(property, components), components, prefix + name),
  ]);
}

function nestedFields(schema: JsonSchema, components: Components, name: string): Field[] {
  if (schema.properties !== undefined) return fieldsOf(schema, components, `${name}.`);
  const objects = alternatives(schema).filter((each) => resolve(each, components).properties !== undefined);
  // When there are several forms, as for the data of events, each has a page of its own.
  if (objects.length === 1) return objects.flatMap((each) => fieldsOf(each, components, `${name}.`));
  const items = schema.items as JsonSchema | undefined;
  if (items === undefined) return [];
  return fieldsOf(items, components, `${name}[].`);
}

/** The value that a schema allows, when it allows only one. */
const onlyValue = ({ const: value, enum: values }: JsonSchema): unknown =>
  value ?? (Array.isArray(values) && values.length === 1 ? values[0] : undefined);

/** The forms that a body may have, each with a name: `kind: site`, or the name of its schema. A single form has no name. */
export function formsOf(schemaOrRef: JsonSchema, components: Components): { name?: string; schema: JsonSchema }[] {
  const forms = alternatives(resolve(schemaOrRef, components)).map((each) => ({
    schema: resolve(each, components),
    component: String(each.$ref ?? "").slice(SCHEMA_REF_PREFIX.length),
  }));
  if (forms.length === 0 || forms.some(({ schema }) => schema.properties === undefined))
    return [{ schema: schemaOrRef }];
  return forms.map(({ schema, component }) => {
    const constantProperty = Object.entries(schema.properties ?? {}).find(
      ([, property]) => onlyValue(property) !== undefined,
    );
    return {
      schema,
      name:
        constantProperty === undefined
          ? component
          : `${constantProperty[0]}: ${String(onlyValue(constantProperty[1]))}`,
    };
  });
}

/** Replaces a text without an example. */
const UNKNOWN = "…";

/** A value that a schema describes. It consists of the schema's examples. */
export function exampleOf(schemaOrRef: JsonSchema, components: Components): unknown {
  const schema = resolve(schemaOrRef, components);
  if (schema.example !== undefined) return schema.example;
  if (Array.isArray(schema.examples)) return schema.examples[0];
  if (schema.const !== undefined) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  const [firstAlternative] = alternatives(schema);
  if (firstAlternative !== undefined && schema.properties === undefined) return exampleOf(firstAlternative, components);
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type === "array") return schema.items === undefined ? [] : [exampleOf(schema.items as JsonSchema, components)];
  if (type === "object") {
    const entries = Object.entries(schema.properties ?? {}).map(([name, property]) => [
      name,
      exampleOf(property, components),
    ]);
    // An optional field without an example is left out.
    return Object.fromEntries(
      entries.filter(([name, value]) => value !== UNKNOWN || schema.required?.includes(String(name))),
    );
  }
  if (type === "integer" || type === "number") return schema.minimum ?? 0;
  if (type === "boolean") return true;
  return type === "null" ? null : UNKNOWN;
}

const ENGLISH = textsOf("en", {});

/** The rules of a field that its description does not mention, so that `1 to 100` is not said twice. */
export function rulesBeside(texts: Texts, { schema }: Field, components: Components): string[] {
  const { t } = texts;
  const english = String(schema.description ?? "").toLowerCase();
  const isMentioned = (rule: string) => english.includes(rule.replace(/ (?:characters|items|pairs)$/, ""));
  const inEnglish = ruleTexts(ENGLISH.t, schema, components);
  return ruleTexts(t, schema, components).filter((_, index) => !isMentioned(inEnglish[index] ?? ""));
}
