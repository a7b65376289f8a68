/** The agents of a list of ids, without duplicates, in ascending order. */
export const agentsIn = (list: unknown): number[] =>
  [...new Set((list as unknown[]).map(Number))].sort((a, b) => a - b);
