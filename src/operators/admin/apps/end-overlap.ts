import { endOverlap } from "../../services/app-secrets.ts";
import { endOverlapSchema } from "../../services/rotation.ts";
import { adminCall } from "../admin-call.ts";
import { endedOverlap, endedOverlapSchema, overlapEnd } from "../rotation.ts";
import type { CallDocumentation } from "../words.ts";
import { appidOf } from "./app.ts";

export default adminCall(
  {
    id: "endOverlap",
    method: "post",
    path: "/apps/:appid/end-overlap",
    role: "operator",
    scope: "app",
    audit: ["app.overlap_ended"],
    body: endOverlapSchema,
    bodyOptional: true,
    response: endedOverlapSchema,
  },
  async (c, { body: { expected_version: expectedVersion } }) => {
    const { version } = await endOverlap(c.var.ctx, { appid: appidOf(c), expectedVersion });
    return { version, previousExpiresAt: null };
  },
);

export const documentation = (): CallDocumentation => ({
  summary: "End the previous secret of an app",
  chinese: "让应用的旧密钥失效",
  description:
    "From the next request on, only the secret in use verifies. No new secret is made. When there is no previous secret, nothing changes and the answer is the same. The body may be left out.",
  body: overlapEnd(),
  response: endedOverlap(),
  answered: "The app has one secret.",
});
