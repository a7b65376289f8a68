import { findApp } from "../store/directory/apps.ts";
import { appidTaken } from "./refusals.ts";
import type { ServiceContext } from "./service-context.ts";

/**
 * Checks whether an app could be imported under an appid. Writes nothing.
 *
 * @throws ServiceError `conflict`, reason `appid_taken`
 */
export async function checkAppid({ runtime, config }: ServiceContext, { appid }: { appid: string }): Promise<void> {
  if ((await findApp(runtime, config.directory, appid)) !== null) throw appidTaken();
}
