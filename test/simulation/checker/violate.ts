/**
 * Reports a broken promise: the rule in the present tense, what happened instead, and the names that the relevant lines
 * of the trace mention. Only the first report of a run counts.
 */
export type Violate = (rule: string, what: string, about: string[]) => void;

/** The rule that something breaks, and what happened instead. */
export type BrokenRule = [rule: string, what: string] | undefined;
