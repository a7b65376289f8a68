import { updateSessionEnded } from "../store/directory/console-sessions.ts";
import type { ServiceContext } from "./service-context.ts";

/** Ends a console session for good. */
export function closeConsoleSession({ runtime, config }: ServiceContext, { id }: { id: string }): Promise<void> {
  return updateSessionEnded(runtime, config.directory, id);
}
