import { UsageError } from "./known-options.ts";

/**
 * Adds missing `fields` at the front of a JSON object. The text of the object does not change: 12345678901234567890, 1.0 and \u00e9
 * are sent as they were typed.
 *
 * @throws UsageError when the text is not one JSON object
 */
export function fillFields(text: string, fields: Readonly<Record<string, string | number>>): string {
  const typedFields = parseObject(text);
  const missingFields = Object.entries(fields).filter(([name]) => !Object.hasOwn(typedFields, name));
  const body = text.trim();
  if (missingFields.length === 0) return body;
  const addedText = missingFields.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(",");
  return `{${addedText}${Object.keys(typedFields).length === 0 ? "" : ","}${body.slice(1)}`;
}

/** @throws UsageError */
export function parseObject(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`The body is not JSON: ${(error as Error).message}. To send it just so, signed, add --raw.`);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new UsageError("The body is not a JSON object. To send it just so, signed, add --raw.");
}
