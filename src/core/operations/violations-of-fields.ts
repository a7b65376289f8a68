import type * as z from "zod/mini";
import { brokenRules } from "../fields.ts";
import type { Violation } from "../rules.ts";
import { sentAs } from "../sent-as.ts";

/** The violations of a signed call's fields, only the first one of each field. Items of a list count from 1. */
export function violationsOfFields(
  { shape }: { shape: Record<string, z.ZodMiniType> },
  error: z.core.$ZodError,
  sentFields: Record<string, unknown>,
): Violation[] {
  return brokenRules(error).map(({ path, broken }) => {
    const [field] = path as [string];
    const value = sentFields[field];
    const { item } = broken;
    const list: unknown[] = Array.isArray(value) ? value : [];
    const sentValue = item === undefined ? value : list[item - 1];
    const isEmpty = (value === null || value === "") && item === undefined;
    const mayBeLeftOut = isEmpty && shape[field]?.safeParse(undefined).success === true;
    return {
      field,
      ...(!mayBeLeftOut && broken.key === undefined && sentAs(broken.rule, sentValue)),
      ...broken,
      ...(mayBeLeftOut && { mayBeLeftOut }),
    };
  });
}
