/** What many seeds did together, as `--report` writes it. */
export interface Report {
  /** How often each kind of thing happened. */
  seen: Record<string, number>;
  /** Each rule, and whether it was asked. */
  rules: Record<string, boolean>;
}

/** The names that did not happen. */
export const notSeen = ({ seen }: Pick<Report, "seen">, names: readonly string[]): string[] =>
  names.filter((name) => !((seen[name] ?? 0) > 0));

/** The rules that were not asked. */
export const notAsked = ({ rules }: Pick<Report, "rules">): string[] =>
  Object.keys(rules).filter((rule) => !rules[rule]);
