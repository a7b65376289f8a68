import { deleteApp } from "../../services/apps.ts";
import { adminCall } from "../admin-call.ts";
import type { CallDocumentation } from "../words.ts";
import { appidOf } from "./app.ts";

export default adminCall(
  {
    id: "revokeApp",
    method: "delete",
    path: "/apps/:appid",
    role: "operator",
    scope: "app",
    audit: ["app.revoked", "app.released"],
  },
  (c) => deleteApp(c.var.ctx, { appid: appidOf(c) }),
);

export const documentation = (): CallDocumentation => ({
  summary: "Revoke an app, or release an appid that has none",
  chinese: "吊销应用，或释放没有应用的 appid",
  description:
    "Ends the app for good, from its next request on; its appid stays its site's. An appid that is kept for a site without an app is released: any site can get it. That is 409 when somebody asks for it at this moment, and 503 while its home or `main` is closed.",
  answered: "The app is revoked, or the appid is released.",
});
