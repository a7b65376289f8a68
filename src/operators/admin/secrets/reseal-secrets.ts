import * as z from "zod/mini";
import { resealSecrets } from "../../services/reseal-secrets.ts";
import { adminCall } from "../admin-call.ts";
import { appid, type CallDocumentation, count, homesDown } from "../words.ts";

export default adminCall(
  {
    id: "resealSecrets",
    method: "post",
    path: "/reseal",
    role: "owner",
    scope: "deployment",
    audit: ["secrets.resealed"],
    response: z.object({
      resealed: z.int(),
      remaining: z.int(),
      unopened: z.int(),
      unopened_apps: z.array(z.string()),
      unopened_webhooks: z.array(z.string()),
      homes_down: z.array(z.string()),
    }),
  },
  (c) => resealSecrets(c.var.ctx),
);

export const documentation = (): CallDocumentation => ({
  summary: "Seal secrets with the current master key",
  chinese: "用当前主密钥重新加密密钥",
  description:
    "After MASTER_KEY was changed and the one before put into MASTER_KEY_PREVIOUS: seals anew what the earlier key sealed, 100 apps and webhooks a call. Closed homes are not touched. Call again until `remaining` is 0 and `homes_down` is empty; when `unopened` is 0 too, the earlier key can go.",
  response: {
    name: "Resealed",
    fields: {
      resealed: count("Secrets sealed anew by this call.", 12),
      remaining: count("Secrets that another call can still seal anew: call again until none is left."),
      unopened: count("Secrets that no master key here opens, of those this call came to."),
      unopened_apps: { description: "The first 20 of their apps.", maxItems: 20, items: appid(), examples: [[]] },
      unopened_webhooks: {
        description: "The first 20 of their webhooks, by their ids.",
        maxItems: 20,
        examples: [[]],
      },
      homes_down: {
        ...homesDown(),
        description: "The homes that do not answer or are closed, and are left out here.",
      },
    },
  },
  answered: "What was sealed anew and what remains.",
});
