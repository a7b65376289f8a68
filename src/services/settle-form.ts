import * as forms from "../store/directory/console-sessions.ts";
import type { ServiceContext } from "./service-context.ts";

/** Stores where a claimed form led to, so that the same form sent again leads there too. */
export function settleForm(
  { runtime, config }: ServiceContext,
  { id, location }: { id: string; location: string },
): Promise<void> {
  return forms.updateForm(runtime, config.directory, id, location);
}
