import { type Defect, LONGER } from "./defect.ts";

/** Defects of operators' changes of webhooks. */
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
  {
    name: "webhook-moved-enabled",
    what: "A disabled webhook that gets another URL is enabled.",
    edits: [
      {
        file: "src/store/home/webhooks.ts",
        find: "wanted.status ?? before.status,",
        replace: `wanted.status ?? (wanted.url === undefined ? before.status : "enabled"),`,
      },
    ],
  },
  {
    name: "webhook-types-enabled",
    what: "A disabled webhook that gets other types is enabled.",
    edits: [
      {
        file: "src/store/home/webhooks.ts",
        find: "wanted.status ?? before.status,",
        replace: `wanted.status ?? (wanted.events === undefined ? before.status : "enabled"),`,
      },
    ],
  },
  {
    name: "webhook-changed-without-reason",
    steps: LONGER,
    what: "A webhook that the Worker has disabled loses the reason when it gets another URL.",
    edits: [
      {
        file: "src/store/home/webhooks.ts",
        find: `wanted.status === "enabled" ? null : before.disabledReason,`,
        replace: `wanted.url !== undefined || wanted.status === "enabled" ? null : before.disabledReason,`,
      },
    ],
  },
  {
    name: "webhook-late-change",
    what: "A change of a webhook that D1 applies late undoes one that was answered since.",
    edits: [
      {
        file: "src/store/home/webhooks.ts",
        find: "and(isWebhook(key), eq(webhooks.revision, before.revision))",
        replace: "isWebhook(key)",
      },
      {
        file: "src/store/home/webhooks.ts",
        find: "ne(webhooks.url, url)",
        replace: "sql`${webhooks.url} <> ${wanted.url ?? null}`",
      },
      {
        file: "src/store/home/webhooks.ts",
        find: "ne(webhooks.status, status)",
        replace: "sql`${webhooks.status} <> ${wanted.status ?? null}`",
      },
      {
        file: "src/store/home/webhooks.ts",
        find: "ne(webhooks.events, events)",
        replace: "wanted.events === undefined ? sql`0` : ne(webhooks.events, events)",
      },
      {
        file: "src/store/home/webhooks.ts",
        find: "...{ url, events, status, revision: before.revision + 1 },",
        replace: "...{ ...wanted, revision: sql`${webhooks.revision} + 1` },",
      },
      {
        file: "src/store/home/webhooks.ts",
        find: 'disabledReason: wanted.status === "enabled" ? null : before.disabledReason,',
        replace: '...(wanted.status === "enabled" && { disabledReason: null }),',
      },
    ],
  },
];
