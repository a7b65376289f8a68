import { call } from "../../http/call.ts";
import type { ConsoleCall } from "../env.ts";
import { secretPages } from "../secrets/secret-pages.ts";
import { appPageOrMissing, secretOwnerOf } from "./app-page.tsx";
import { appsPage, postApp } from "./apps-page.tsx";
import { postRelease, releasePage } from "./missing-app.tsx";
import { postRevoke, revokePage } from "./revoke-app.tsx";
import { postTestCall, testCallPage } from "./test-call.tsx";
import { testResultPage } from "./test-result.tsx";

const SEE = { role: "viewer", scope: "site" } as const;
const CHANGE = { role: "operator", scope: "site" } as const;
const APP = "/sites/:site_id/apps/:appid";

export const APPS_CALLS: ConsoleCall[] = [
  call({ ...SEE, method: "get", path: "/sites/:site_id/apps", audit: [] }, appsPage),
  call(
    { ...CHANGE, method: "post", path: "/sites/:site_id/apps", audit: ["app.routed", "app.issued", "app.imported"] },
    postApp,
  ),
  call({ ...SEE, method: "get", path: APP, audit: [] }, appPageOrMissing),
  call({ ...CHANGE, method: "get", path: `${APP}/release`, audit: [] }, releasePage),
  call({ ...CHANGE, method: "post", path: `${APP}/release`, audit: ["app.released"] }, postRelease),
  ...secretPages(APP, { rotated: "app.rotated", ended: "app.overlap_ended" }, secretOwnerOf),
  call({ ...CHANGE, method: "get", path: `${APP}/test`, audit: [] }, testCallPage),
  call({ ...CHANGE, method: "post", path: `${APP}/test`, audit: ["app.tested"] }, postTestCall),
  call({ ...CHANGE, method: "get", path: `${APP}/test/result`, audit: [] }, testResultPage),
  call({ ...CHANGE, method: "get", path: `${APP}/revoke`, audit: [] }, revokePage),
  call({ ...CHANGE, method: "post", path: `${APP}/revoke`, audit: ["app.revoked"] }, postRevoke),
];
