import { call } from "../../operator/call.ts";
import type { ConsoleCall } from "../env.ts";
import { secretPages } from "../secrets/secret-pages.tsx";
import { appOf, appPageOrMissing, postRevoke, revokePage } from "./app-page.tsx";
import { appsPage, postApp } from "./apps-page.tsx";
import { postRelease, releasePage } from "./missing-app.tsx";

const SITE = { role: "owner", scope: "site" } as const;
const APP = "/sites/:site_id/apps/:appid";

export const APPS_CALLS: ConsoleCall[] = [
  call({ ...SITE, method: "get", path: "/sites/:site_id/apps", audit: [] }, appsPage),
  call(
    { ...SITE, method: "post", path: "/sites/:site_id/apps", audit: ["app.routed", "app.issued", "app.imported"] },
    postApp,
  ),
  call({ ...SITE, method: "get", path: APP, audit: [] }, appPageOrMissing),
  call({ ...SITE, method: "get", path: `${APP}/release`, audit: [] }, releasePage),
  call({ ...SITE, method: "post", path: `${APP}/release`, audit: ["app.released"] }, postRelease),
  ...secretPages(APP, { rotated: "app.rotated", ended: "app.overlap_ended" }, appOf),
  call({ ...SITE, method: "get", path: `${APP}/revoke`, audit: [] }, revokePage),
  call({ ...SITE, method: "post", path: `${APP}/revoke`, audit: ["app.revoked"] }, postRevoke),
];
