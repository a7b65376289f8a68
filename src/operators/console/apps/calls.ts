import { call } from "../../http/call.ts";
import type { ConsoleCall } from "../env.ts";
import { secretPages } from "../secrets/secret-pages.ts";
import { appPageOrMissing, secretOwnerOf } from "./app-page.tsx";
import { appsPage, postApp } from "./apps-page.tsx";
import { postRelease, releasePage } from "./missing-app.tsx";
import { postRevoke, revokePage } from "./revoke-app.tsx";
import { postTestCall, testCallPage } from "./test-call.tsx";
import { testResultPage } from "./test-result.tsx";

const VIEWER_OF_SITE = { role: "viewer", scope: "site" } as const;
const OPERATOR_OF_SITE = { role: "operator", scope: "site" } as const;
const APP = "/sites/:site_id/apps/:appid";

export const APPS_CALLS: ConsoleCall[] = [
  call({ ...VIEWER_OF_SITE, method: "get", path: "/sites/:site_id/apps", audit: [] }, appsPage),
  call(
    {
      ...OPERATOR_OF_SITE,
      method: "post",
      path: "/sites/:site_id/apps",
      audit: ["app.routed", "app.issued", "app.imported"],
    },
    postApp,
  ),
  call({ ...VIEWER_OF_SITE, method: "get", path: APP, audit: [] }, appPageOrMissing),
  call({ ...OPERATOR_OF_SITE, method: "get", path: `${APP}/release`, audit: [] }, releasePage),
  call({ ...OPERATOR_OF_SITE, method: "post", path: `${APP}/release`, audit: ["app.released"] }, postRelease),
  ...secretPages(APP, { rotated: "app.rotated", ended: "app.overlap_ended" }, secretOwnerOf),
  call({ ...OPERATOR_OF_SITE, method: "get", path: `${APP}/test`, audit: [] }, testCallPage),
  call({ ...OPERATOR_OF_SITE, method: "post", path: `${APP}/test`, audit: ["app.tested"] }, postTestCall),
  call({ ...OPERATOR_OF_SITE, method: "get", path: `${APP}/test/result`, audit: [] }, testResultPage),
  call({ ...OPERATOR_OF_SITE, method: "get", path: `${APP}/revoke`, audit: [] }, revokePage),
  call({ ...OPERATOR_OF_SITE, method: "post", path: `${APP}/revoke`, audit: ["app.revoked"] }, postRevoke),
];
