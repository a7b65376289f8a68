import type { Context } from "hono";
import type { OperatorVariables } from "../operator/context.ts";
import type { App } from "../request-context.ts";

export type AdminEnv = { Bindings: App["Bindings"]; Variables: App["Variables"] & OperatorVariables };

export type AdminContext = Context<AdminEnv>;
