import type * as z from "zod/mini";
import { fieldIssues } from "../fields.ts";

/** Added to the rule of an integer or a list, because sending a string is the usual mistake. */
export const orString = (value: unknown): string => (typeof value === "string" ? ", not a string" : "");

/**
 * The faults of a signed call's fields, in one line for `x-error-detail`:
 * `fzr_uid: is required; kefu_id: item 2 must be an integer`. Items of a list count from 1. The values that were sent are never
 * quoted.
 */
export function describeFields(
  { shape }: { shape: Record<string, z.ZodMiniType> },
  error: z.core.$ZodError,
  given: Record<string, unknown>,
): string {
  const described = fieldIssues(error).map(({ field, message }) => {
    const [name, index] = field.split(".") as [string, string | undefined];
    const value = given[name];
    if (index !== undefined) {
      const item: unknown = Array.isArray(value) ? value[Number(index)] : undefined;
      return `${name}: item ${Number(index) + 1} ${message}${orString(item)}`;
    }
    const slip = /^must be an (integer|array)\b/.test(message) ? orString(value) : "";
    const isOptional = shape[name]?.safeParse(undefined).success === true;
    const cure = isOptional && (value === null || value === "") ? ", or left out" : "";
    return `${name}: ${message}${slip}${cure}`;
  });
  return described.join("; ");
}
