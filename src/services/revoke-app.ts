import { markRevoked } from "../store/directory/apps.ts";
import { appUnknown } from "./refusals.ts";
import { authorOf, forgetApp, type ServiceContext } from "./service-context.ts";

/** Revokes an app for good: none of its secrets verifies from here on. @throws ServiceError `not_found` */
export async function revokeApp(ctx: ServiceContext, { appid }: { appid: string }): Promise<void> {
  if (!(await markRevoked(ctx.config.directory, appid, authorOf(ctx)))) throw appUnknown();
  forgetApp(ctx, appid);
}
