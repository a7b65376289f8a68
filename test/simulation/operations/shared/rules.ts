/** Rules of form that more than one operation has: sections 4 and 8 of the contract. */

/** Counted in code points. */
export const isText = (value: unknown, most: number): value is string =>
  typeof value === "string" && value.isWellFormed() && value !== "" && [...value].length <= most;

export const isId = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 1;

/** The agents of a list, each once and in ascending order; undefined when it is no list of 1 to 100 of them. */
export function agentsIn(list: unknown): number[] | undefined {
  if (!Array.isArray(list) || list.length === 0 || !list.every(isId)) return undefined;
  const agents = [...new Set(list)].sort((a, b) => a - b);
  return agents.length <= 100 ? agents : undefined;
}

export const text = (length: number, of = "x"): string => of.repeat(length);
export const ids = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);

export const LONE_SURROGATE = "\ud800";

/** What TypeScript does not know of JSON yet. */
const { rawJSON, isRawJSON } = JSON as unknown as {
  rawJSON(text: string): unknown;
  isRawJSON(value: unknown): boolean;
};

/** A number in a body as it stands here: digits that no number of JavaScript holds. */
export const written = (digits: string): unknown => rawJSON(digits);

/** Whether a number that was written so is somewhere in a value. */
export const holdsWritten = (value: unknown): boolean =>
  typeof value === "object" && value !== null && (isRawJSON(value) || Object.values(value).some(holdsWritten));
