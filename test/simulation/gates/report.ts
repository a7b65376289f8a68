/** The combined result of many seeds, as `--report` writes it. */
export interface Report {
  /** How often each kind of thing happened. */
  seen: Record<string, number>;
  /** For each rule, whether it was asked. */
  rules: Record<string, boolean>;
}

export const notSeen = ({ seen }: Pick<Report, "seen">, names: readonly string[]): string[] =>
  names.filter((name) => !((seen[name] ?? 0) > 0));

export const notAsked = ({ rules }: Pick<Report, "rules">): string[] =>
  Object.keys(rules).filter((rule) => !rules[rule]);
