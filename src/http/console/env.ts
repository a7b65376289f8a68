import type { Context } from "hono";
import type { SendsSigned } from "../in-process-call.ts";
import type { Routes } from "../new-hono.ts";
import type { Call } from "../operator/call.ts";
import type { OperatorVariables } from "../operator/context.ts";
import type { App } from "../request-context.ts";
import type { View } from "./view.ts";

export type ConsoleEnv = {
  Bindings: App["Bindings"];
  /** The first middleware sets `view` and the operator's variables. `onlyReads`: the form that was sent changes nothing. */
  Variables: App["Variables"] & OperatorVariables & { view: View; onlyReads?: boolean; sendSigned: SendsSigned };
};

export type PageContext = Context<ConsoleEnv>;
export type ConsoleCall = Call<PageContext>;
export type ConsoleRoutes = Routes<ConsoleEnv>;
