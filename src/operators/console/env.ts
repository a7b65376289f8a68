import type { Context } from "hono";
import type { Routes } from "../../core/http/new-hono.ts";
import type { App } from "../../core/http/request-context.ts";
import type { Call } from "../http/call.ts";
import type { OperatorVariables } from "../http/context.ts";
import type { SendsSigned } from "../http/in-process-call.ts";
import type { View } from "./view.ts";

export type ConsoleEnv = {
  Bindings: App["Bindings"];
  /** The first middleware sets `view` and the operator's variables. `onlyReads`: the sent form changes nothing. */
  Variables: App["Variables"] & OperatorVariables & { view: View; onlyReads?: boolean; sendSigned: SendsSigned };
};

export type PageContext = Context<ConsoleEnv>;
export type ConsoleCall = Call<PageContext>;
export type ConsoleRoutes = Routes<ConsoleEnv>;
