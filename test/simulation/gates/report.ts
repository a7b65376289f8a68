/** What many seeds did together, as `--report` writes it. */
export interface Report {
  /** How often each kind of thing happened. */
  seen: Record<string, number>;
}

/** The names that did not happen. */
export const notSeen = ({ seen }: Pick<Report, "seen">, names: readonly string[]): string[] =>
  names.filter((name) => !((seen[name] ?? 0) > 0));
