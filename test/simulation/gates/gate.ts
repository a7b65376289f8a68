import { OPERATIONS } from "../../../src/core/operations/index.ts";
import { worldNames } from "./names.ts";

/** Names and rules that the nightly gate does not require, each with the reason. */
export const NEVER: Record<string, string> = {
  "queue: message dropped":
    "its consumer has to die as often in a row as a message is given; the stand-in's own tests show it",
  "nothing fails after the answer":
    "all work after an answer catches its errors; the rule waits for work that does not",
  "an appid stays taken for 31 days after its site has ended":
    "no run lasts for so long; the rule waits for an appid that is freed too early",
};

/** The combined result of many seeds, as `--report` writes it. */
export interface Report {
  /** How often each kind of thing happened. */
  seen: Record<string, number>;
  /** For each rule, whether it was asked. */
  rules: Record<string, boolean>;
}

/** The names under which the simulation counts each operation: docs/simulation.md, "What has to happen". */
export const operationNames = (operations: readonly { wireName: string; refusals: object }[] = OPERATIONS): string[] =>
  operations.flatMap(({ wireName, refusals }) => [
    `${wireName} accepted`,
    `${wireName} repeated`,
    ...[...Object.keys(refusals), "key_reused"].map((refusal) => `${wireName} refused: ${refusal}`),
  ]);

export const unseenNames = ({ seen }: Pick<Report, "seen">, names: readonly string[]): string[] =>
  names.filter((name) => !((seen[name] ?? 0) > 0));

export const unaskedRules = ({ rules }: Pick<Report, "rules">): string[] =>
  Object.keys(rules).filter((rule) => !rules[rule]);

/** The names that did not happen, and the rules that were not asked. */
export const missingIn = (report: Report): string[] =>
  [...unseenNames(report, [...operationNames(), ...worldNames()]), ...unaskedRules(report)].filter(
    (name) => !Object.hasOwn(NEVER, name),
  );
