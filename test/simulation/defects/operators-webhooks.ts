import type { Defect } from "./defect.ts";

/** Of what operators do to webhooks. */
export const WEBHOOK_DEFECTS: Defect[] = [
  {
    name: "webhook-late-try",
    what: "A late try of a PATCH of a webhook undoes a later one.",
    edits: [
      {
        file: "src/store/home/webhooks.ts",
        find: "and(isWebhook(key), eq(webhooks.revision, before.revision))",
        replace: "isWebhook(key)",
      },
    ],
  },
  {
    name: "disabling-without-revision",
    what: "A late try of an operator enables a webhook that the Worker has disabled.",
    edits: [
      {
        file: "src/store/home/webhook-health.ts",
        find: "disabled_reason = ${v.reason}, revision = revision + 1",
        replace: "disabled_reason = ${v.reason}",
      },
    ],
  },
];
