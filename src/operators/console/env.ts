import type { Context } from "hono";
import type { Routes } from "../../core/http/new-hono.ts";
import type { App } from "../../core/http/request-context.ts";
import type { Call } from "../http/call.ts";
import type { OperatorVariables } from "../http/context.ts";
import type { SendsSigned } from "../http/in-process-call.ts";
import type { View } from "./view.ts";

/** A form that may be shown again later: its path, and its fields without secrets. */
export type SentForm = { path: string; values: Record<string, string> };

/** The first middleware sets these, except `form`, the fields of a posted form, `sent`, and `begun`: see `beginWork`. */
type ConsoleVariables = { view: View; t: View["t"]; form: Record<string, string>; sendSigned: SendsSigned } & {
  begun?: boolean;
  sent?: SentForm | undefined;
};

export type ConsoleEnv = {
  Bindings: App["Bindings"];
  Variables: App["Variables"] & OperatorVariables & ConsoleVariables;
};

export type PageContext = Context<ConsoleEnv>;
export type ConsoleCall = Call<PageContext>;
export type ConsoleRoutes = Routes<ConsoleEnv>;

/** Gives the view, and its `t` beside it, to the handlers of a request. */
export function setView(c: PageContext, view: View): void {
  c.set("view", view);
  c.set("t", view.t);
}
