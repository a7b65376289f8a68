/** Rules of form that several operations share: sections 4 and 8 of the contract. */

/** The length is counted in code points. */
export const isText = (value: unknown, most: number): value is string =>
  typeof value === "string" && value.isWellFormed() && value !== "" && [...value].length <= most;

export const isId = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 1;

/**
 * The agents of a list, without duplicates, in ascending order; undefined when it is not a list of 1 to 100 of them.
 */
export function agentsIn(list: unknown): number[] | undefined {
  if (!Array.isArray(list) || list.length === 0 || !list.every(isId)) return undefined;
  const agents = [...new Set(list)].sort((a, b) => a - b);
  return agents.length <= 100 ? agents : undefined;
}

export const text = (length: number, of = "x"): string => of.repeat(length);
export const ids = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);

export const LONE_SURROGATE = "\ud800";

/** Features of JSON that TypeScript does not know yet. */
const { rawJSON, isRawJSON } = JSON as unknown as {
  rawJSON(text: string): unknown;
  isRawJSON(value: unknown): boolean;
};

/** A number in a body, written with these digits, which a JavaScript number may be unable to hold. */
export const written = (digits: string): unknown => rawJSON(digits);

/** Whether a value contains such a number, at any depth. */
export const holdsWritten = (value: unknown): boolean =>
  typeof value === "object" && value !== null && (isRawJSON(value) || Object.values(value).some(holdsWritten));
