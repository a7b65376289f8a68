import { type Defect, oneEditDefect } from "../planted-defect.ts";

const RUN_BATCH = "src/core/store/run-batch.ts";
const STALLS = "src/core/store/stalls.ts";

/** Defects that show only when a home stalls, or when the connection of a call of D1 is closed. */
export const WEATHER_DEFECTS: Defect[] = [
  {
    name: "reset-surely-not-done",
    what: "A call that failed at the reset of a stalled home counts as not done, so the next try does the work again under a new ranstr.",
    edits: [
      { file: RUN_BATCH, find: "  let fault: unknown;", replace: "  let fault: unknown;\n  let fresh = 0;" },
      {
        file: RUN_BATCH,
        find: "call(before + attempt), throwLate",
        replace: "call(before + attempt + fresh), throwLate",
      },
      {
        file: RUN_BATCH,
        find: "      watch?.onFault();",
        replace: "      if (/exceeded timeout/.test(message)) fresh = 100;\n      watch?.onFault();",
      },
      {
        file: "src/core/signed/decide.ts",
        find: "const request = { ...claim, siteId, secretVersion, events: Number(events) };\n  const batch = (attempt: number) => operation.batch(db, request, operationInput, attempt);",
        replace:
          "const request = { ...claim, siteId, secretVersion, events: Number(events) };\n  const batch = (attempt: number) =>\n    operation.batch(db, attempt < 100 ? request : { ...request, ranstr: request.ranstr + attempt }, operationInput, attempt);",
      },
    ],
  },
  oneEditDefect(
    "disconnected-surely-not-done",
    "A call of D1 whose connection was closed counts as refused although it may be done, and the answer is an internal error.",
    RUN_BATCH,
    "SQLITE_(ERROR|",
    "client disconnected|SQLITE_(ERROR|",
  ),
  oneEditDefect(
    "stalled-home-tried-by-all",
    "A home that gives no answers gets the tries of all requests at the same time.",
    STALLS,
    "silence.probeUntil = now + TRY_LIMIT_MS;",
    "silence.probeUntil = now;",
  ),
  oneEditDefect(
    "stalled-after-an-answer",
    "A home still counts as stalled after it has answered.",
    STALLS,
    "      const answer = await call();\n      this.#silences.delete(home);",
    "      const answer = await call();",
  ),
];
