import type { Context } from "hono";
import type { App } from "../context.ts";
import type { OperatorVariables } from "../operator.ts";

export type AdminEnv = { Bindings: App["Bindings"]; Variables: App["Variables"] & OperatorVariables };

export type AdminContext = Context<AdminEnv>;
