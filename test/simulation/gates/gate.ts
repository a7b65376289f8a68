import { OPERATIONS } from "../../../src/operations/index.ts";
import { NEVER } from "./exceptions.ts";
import { worldNames } from "./names.ts";
import { operationNames } from "./operations.ts";
import { notAsked, notSeen, type Report } from "./report.ts";

/** The names of everything that must happen. The rules, which must be asked, are in the report. */
export const namesThatHappen = (): string[] => [...operationNames(OPERATIONS), ...worldNames()];

/** The names that did not happen, and the rules that were not asked. */
export const missingIn = (report: Report): string[] =>
  [...notSeen(report, namesThatHappen()), ...notAsked(report)].filter((name) => !Object.hasOwn(NEVER, name));
