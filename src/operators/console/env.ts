import type { Context } from "hono";
import type { Routes } from "../../core/http/new-hono.ts";
import type { App } from "../../core/http/request-context.ts";
import type { Call } from "../http/call.ts";
import type { OperatorVariables } from "../http/context.ts";
import type { SendsSigned } from "../http/in-process-call.ts";
import type { View } from "./view.ts";

/** A form that may be shown again later: its path, and its fields without secrets. */
export type SentForm = { path: string; values: Record<string, string> };

export type ConsoleEnv = {
  Bindings: App["Bindings"];
  /**
   * The first middleware sets `view`, its `t` and the operator's variables. `form`: the fields of a posted form. `begun`: see `beginWork`.
   */
  Variables: App["Variables"] &
    OperatorVariables & {
      view: View;
      t: View["t"];
      form: Record<string, string>;
      begun?: boolean;
      sent?: SentForm | undefined;
      sendSigned: SendsSigned;
    };
};

export type PageContext = Context<ConsoleEnv>;
export type ConsoleCall = Call<PageContext>;
export type ConsoleRoutes = Routes<ConsoleEnv>;

/** Gives the view, and its `t` beside it, to the handlers of a request. */
export function setView(c: PageContext, view: View): void {
  c.set("view", view);
  c.set("t", view.t);
}
