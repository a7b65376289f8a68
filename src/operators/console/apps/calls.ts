import type { ConsoleCall } from "../env.ts";
import { form, page } from "../page-call.ts";
import { secretPages } from "../secrets/secret-pages.tsx";
import { appPageOrMissing, postRelease, postRevoke, releasePage, revokePage, secretOwnerOf } from "./app-page.tsx";
import { appsPage, postApp } from "./apps-page.tsx";
import { postTestCall, testCallPage, testResultPage } from "./test-call.tsx";

const APP = "/sites/:site_id/apps/:appid";

export const APPS_CALLS: ConsoleCall[] = [
  page("viewer", "/sites/:site_id/apps", appsPage),
  form("operator", "/sites/:site_id/apps", ["app.routed", "app.issued", "app.imported"], postApp),
  page("viewer", APP, appPageOrMissing),
  page("operator", `${APP}/release`, releasePage),
  form("operator", `${APP}/release`, ["app.released"], postRelease),
  ...secretPages(APP, { rotated: "app.rotated", ended: "app.overlap_ended" }, secretOwnerOf),
  page("operator", `${APP}/test`, testCallPage),
  form("operator", `${APP}/test`, ["app.tested"], postTestCall),
  page("operator", `${APP}/test/result`, testResultPage),
  page("operator", `${APP}/revoke`, revokePage),
  form("operator", `${APP}/revoke`, ["app.revoked"], postRevoke),
];
