import { type Resealed, resealSecrets } from "../services/reseal-secrets.ts";
import { adminCall } from "./call.ts";

const shownResealed = ({ resealed, remaining, unopened, homesDown, ...named }: Resealed) => ({
  resealed,
  remaining,
  unopened,
  unopened_apps: named.unopenedApps,
  unopened_webhooks: named.unopenedWebhooks,
  homes_down: homesDown,
});

export const secretCalls = [
  adminCall(
    {
      id: "resealSecrets",
      method: "post",
      path: "/reseal",
      role: "owner",
      scope: "deployment",
      audit: ["secrets.resealed"],
    },
    async (c) => c.json(shownResealed(await resealSecrets(c.var.ctx))),
  ),
];
