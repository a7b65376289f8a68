import * as z from "zod/mini";
import { issueApp, issueAppSchema } from "../../services/apps.ts";
import { adminCall } from "../admin-call.ts";
import { version } from "../rotation.ts";
import { appid, type CallDocumentation, newName } from "../words.ts";
import { appName, appSecret } from "./app.ts";

export default adminCall(
  {
    id: "issueApp",
    method: "post",
    path: "/sites/:site_id/apps",
    role: "operator",
    scope: "site",
    audit: ["app.routed", "app.issued", "app.imported"],
    body: issueAppSchema,
    status: 201,
    response: z.object({ appid: z.string(), secret: z.string(), name: z.string(), version: z.string() }),
  },
  (c, { site, body }) => issueApp(c.var.ctx, { site, ...body }),
);

export const documentation = (): CallDocumentation => ({
  summary: "Issue an app",
  chinese: "签发应用",
  description:
    "Makes an appid and a secret for a back end, or takes over those of another service. When a database does not answer, the 503 names an appid that is kept for the site without an app: send the call again with it, or release it.",
  body: {
    name: "NewApp",
    fields: {
      name: newName("What the app is called", "Shop back end"),
      appid: {
        description: "An appid to take over from another service; a random one is made without it.",
        minLength: 1,
        maxLength: 64,
        examples: ["my-shop"],
      },
      secret: {
        description: "A secret to take over from another service; a random one is made without it. Printable ASCII.",
        minLength: 8,
        maxLength: 256,
        examples: ["keep-this-on-your-server"],
      },
    },
  },
  response: {
    name: "IssuedApp",
    fields: { appid: appid(), secret: appSecret(), name: appName(), version: version() },
  },
  answered: "The app was issued. The secret is shown here only.",
});
