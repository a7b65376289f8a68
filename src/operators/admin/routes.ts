import { newHono, type Routes } from "../../core/http/new-hono.ts";
import { refuseOtherMethods, refuseOtherPaths } from "../../core/http/refuse-other-methods.ts";
import { mount } from "../http/call.ts";
import { answerInTime, serviceContext } from "../http/context.ts";
import type { OperatorMemory } from "../services/operator-memory.ts";
import { identifyProgram } from "./bearer.ts";
import { ADMIN_CALLS } from "./calls.ts";
import type { AdminEnv } from "./env.ts";
import { answerAdminError } from "./on-error.ts";

/** The admin API: JSON in and out, bearer token, problem details. See docs/operating.md, "Admin API". */
export function adminRoutes(memory: OperatorMemory): Routes<AdminEnv> {
  const routes = newHono<AdminEnv>();
  routes.onError(answerAdminError);
  routes.use(async function provideContext(c, next) {
    c.header("cache-control", "no-store");
    c.set("ctx", serviceContext(c, "admin-api", memory));
    await next();
  });
  routes.use(answerInTime);
  routes.use(async function endCall(c, next) {
    try {
      await next();
    } finally {
      memory.calls.end(c.var.trace.requestId);
    }
  });
  mount(routes, ADMIN_CALLS, identifyProgram);
  refuseOtherMethods(routes);
  refuseOtherPaths(routes);
  return routes;
}
