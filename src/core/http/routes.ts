import { newHono, type Routes } from "../../http/new-hono.ts";
import { routeNotFound } from "../../http/refuse-other-methods.ts";
import type { Isolate } from "../../http/request-context.ts";
import { requestLog } from "../../http/request-log.ts";
import { answerSignedError } from "../../http/signed/on-error.ts";
import { signedRoute } from "../../http/signed/route.ts";
import { CALLS_DETAIL, OPERATIONS } from "../../operations/index.ts";

/** What every request passes, whichever surface it is for. */
export function rootApp(isolate: Isolate): Routes {
  const app = newHono();
  app.onError(answerSignedError);
  app.notFound((c) => answerSignedError(routeNotFound(CALLS_DETAIL), c));
  app.use(requestLog(isolate));
  return app;
}

/** Adds the signed calls, each at its path. */
export function addCalls(app: Routes): void {
  for (const operation of OPERATIONS) app.post(operation.path, signedRoute(operation));
}
