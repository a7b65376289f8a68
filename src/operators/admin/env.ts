import type { Context } from "hono";
import type { App } from "../../core/http/request-context.ts";
import type { OperatorVariables } from "../http/context.ts";

export type AdminEnv = { Bindings: App["Bindings"]; Variables: App["Variables"] & OperatorVariables };

export type AdminContext = Context<AdminEnv>;
