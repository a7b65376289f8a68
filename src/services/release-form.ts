import * as forms from "../store/directory/console-sessions.ts";
import type { ServiceContext } from "./context.ts";

/** Gives back a claimed form that changed nothing: it may be sent again. */
export function releaseForm({ runtime, config }: ServiceContext, { id }: { id: string }): Promise<void> {
  return forms.releaseForm(runtime, config.directory, id);
}
