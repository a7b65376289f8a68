import type { JsonSchema } from "../../src/tools/openapi/json-schema.ts";

/** A body with the first example of each field that has one. */
export const documentedExample = ({ properties = {} }: JsonSchema): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(properties).flatMap(([name, { examples }]) =>
      Array.isArray(examples) ? [[name, examples[0]]] : [],
    ),
  );
