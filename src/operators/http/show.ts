import type * as z from "zod/mini";

export type CamelCase<Name> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name;

/** What {@link show} takes for an answer: the same data under the names of the code, in camelCase. It may hold more. */
export type ShownAnswer<Answer> = Answer extends readonly (infer Item)[]
  ? readonly ShownAnswer<Item>[]
  : string extends keyof Answer
    ? Answer
    : Answer extends object
      ? { [Name in keyof Answer as CamelCase<Name>]: ShownAnswer<Answer[Name]> }
      : Answer;

export const camelCase = (name: string): string =>
  name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase());

/**
 * The data of an answer: only the fields of the schema, in its order and under its names. So no stored field is sent by accident.
 *
 * @param value the same fields in camelCase; records and unknown values as they are
 * @throws Error for a union: only the handler knows which of its schemas fits the answer
 */
export const show = <Schema extends z.ZodMiniType>(schema: Schema, value: ShownAnswer<z.output<Schema>>) =>
  shownValue(schema as unknown as z.core.$ZodTypes, value) as z.output<Schema>;

function shownValue(schema: z.core.$ZodTypes, value: unknown): unknown {
  if (value === null || value === undefined) return value;
  const { def } = schema._zod;
  switch (def.type) {
    case "nullable":
    case "optional":
      return shownValue(def.innerType as z.core.$ZodTypes, value);
    case "array":
      return (value as unknown[]).map((item) => shownValue(def.element as z.core.$ZodTypes, item));
    case "object":
      return Object.fromEntries(
        Object.entries(def.shape).map(([name, field]) => [
          name,
          shownValue(field as z.core.$ZodTypes, (value as Record<string, unknown>)[camelCase(name)]),
        ]),
      );
    case "union":
      throw new Error("an answer is shown by one schema of a union");
    default:
      return value;
  }
}
