import { OPERATIONS, UNKNOWN_PATH } from "../operations/index.ts";
import { newHono, type Routes } from "./new-hono.ts";
import { answerSignedError } from "./on-error.ts";
import { routeNotFound } from "./refuse-other-methods.ts";
import type { Isolate } from "./request-context.ts";
import { requestLog } from "./request-log.ts";
import { signedRoute } from "./signed-route.ts";

/** What every request passes, whichever surface it is for. */
export function rootApp(isolate: Isolate): Routes {
  const app = newHono();
  app.onError(answerSignedError);
  app.notFound((c) => answerSignedError(routeNotFound(UNKNOWN_PATH), c));
  app.use(requestLog(isolate));
  return app;
}

/** Adds the signed calls, each at its path. */
export function addCalls(app: Routes): void {
  for (const operation of OPERATIONS) app.post(operation.path, signedRoute(operation));
}
