import { OPERATIONS } from "../../../src/operations/index.ts";
import { NEVER } from "./exceptions.ts";
import { worldNames } from "./names.ts";
import { operationNames } from "./operations.ts";
import { notAsked, notSeen, type Report } from "./report.ts";

/** Everything that has to happen, by its name; the rules, which have to be asked, are in the report. */
export const namesThatHappen = (): string[] => [...operationNames(OPERATIONS), ...worldNames()];

/** What did not happen and was not asked. */
export const missingIn = (report: Report): string[] =>
  [...notSeen(report, namesThatHappen()), ...notAsked(report)].filter((name) => !Object.hasOwn(NEVER, name));
