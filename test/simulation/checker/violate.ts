/**
 * Reports a broken promise: the rule in the present tense, what happened instead, and what the lines of the trace that matter have in
 * common. Only the first report of a run counts.
 */
export type Violate = (rule: string, what: string, about: string[]) => void;
