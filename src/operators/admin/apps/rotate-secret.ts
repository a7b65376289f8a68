import * as z from "zod/mini";
import { rotateSecret } from "../../services/app-secrets.ts";
import { rotationSchema } from "../../services/rotation.ts";
import { adminCall } from "../admin-call.ts";
import { rotatedFields, rotatedSchema, rotation, rotationOf } from "../rotation.ts";
import { appid, type CallDocumentation } from "../words.ts";
import { appidOf, appSecret } from "./app.ts";

export default adminCall(
  {
    id: "rotateSecret",
    method: "post",
    path: "/apps/:appid/rotate",
    role: "operator",
    scope: "app",
    audit: ["app.rotated"],
    body: rotationSchema,
    bodyOptional: true,
    response: z.object({ appid: z.string(), ...rotatedSchema.shape }),
  },
  async (c, { body }) => {
    const appid = appidOf(c);
    return { appid, ...(await rotateSecret(c.var.ctx, { appid, ...rotationOf(body) })) };
  },
);

export const documentation = (): CallDocumentation => ({
  summary: "Rotate an app's secret",
  chinese: "轮换应用的密钥",
  description:
    "Gives the app a new secret. The one in use verifies too until the overlap ends. While an overlap runs, another rotation is 409 unless `ends` says which secret ends, or `overlap_seconds` is 0. Give `expected_version`, so that a call repeated after a lost answer rotates once. The body may be left out.",
  body: { name: "Rotation", fields: rotation("keeps verifying") },
  response: { name: "RotatedApp", fields: { appid: appid(), ...rotatedFields(appSecret(), "verifies") } },
  answered: "The app has a new secret, shown here only.",
});
