import { findApp } from "../store/directory/apps.ts";
import type { ServiceContext } from "./context.ts";
import { appidTaken } from "./refusals.ts";

/**
 * Looks whether an app could be imported under an appid, and writes nothing.
 *
 * @throws ServiceError `conflict`, reason `appid_taken`
 */
export async function checkAppid({ runtime, config }: ServiceContext, { appid }: { appid: string }): Promise<void> {
  if ((await findApp(runtime, config.directory, appid)) !== null) throw appidTaken();
}
