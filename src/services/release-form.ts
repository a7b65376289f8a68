import * as forms from "../store/directory/console-sessions.ts";
import type { ServiceContext } from "./service-context.ts";

/** Deletes the claim of a form that changed nothing, so that it may be sent again. */
export function releaseForm({ runtime, config }: ServiceContext, { id }: { id: string }): Promise<void> {
  return forms.deleteForm(runtime, config.directory, id);
}
