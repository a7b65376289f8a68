import * as forms from "../store/directory/console-sessions.ts";
import type { ServiceContext } from "./context.ts";

/** Notes where a claimed form led once it was done: sent again it leads there. */
export function settleForm(
  { runtime, config }: ServiceContext,
  { id, location }: { id: string; location: string },
): Promise<void> {
  return forms.settleForm(runtime, config.directory, id, location);
}
