import { OPERATIONS, UNKNOWN_PATH } from "../operations/index.ts";
import { newHono, type Routes } from "./new-hono.ts";
import { answerSignedError } from "./on-error.ts";
import { routeNotFound } from "./refuse-other-methods.ts";
import type { Isolate } from "./request-context.ts";
import { requestLog } from "./request-log.ts";
import { signedRoute } from "./signed-route.ts";
import { withholdAnswer } from "./withhold-answer.ts";

/** An app with the parts of all surfaces: answers to errors, the request log, and drills. */
export function rootApp(isolate: Isolate): Routes {
  const app = newHono();
  app.onError(answerSignedError);
  app.notFound((c) => answerSignedError(routeNotFound(UNKNOWN_PATH), c));
  app.use(withholdAnswer, requestLog(isolate));
  return app;
}

export function addCalls(app: Routes): void {
  for (const operation of OPERATIONS) app.post(operation.path, signedRoute(operation));
}
