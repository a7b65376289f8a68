import type { Bindings } from "../../core/config.ts";
import type { RequestContext } from "../../core/http/request-context.ts";
import type { Trace } from "../../core/telemetry/trace.ts";

/** The answer to a signed call that the Worker sent to itself. */
interface OwnAnswer {
  answer: Response;
  /** Why it was refused; undefined for an accepted call. */
  reason: Trace["reason"];
  violations: Trace["violations"];
}

/** Sends a signed call through the Worker's own routes, in process: a Worker cannot fetch itself. */
export type SendsSigned = (request: Request, env: Bindings, ctx: RequestContext["executionCtx"]) => Promise<OwnAnswer>;
