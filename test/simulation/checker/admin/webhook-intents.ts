import { DEFAULT_STATUSES } from "./redeliveries.ts";
import type { RotationAsked } from "./rotations.ts";

/** The purpose of a call of the admin API about webhooks: docs/operating.md, "Events". */
export type WebhookIntent =
  | { kind: "addWebhook"; siteId: number; url: string; events: string[] | undefined }
  | {
      kind: "changeWebhook";
      siteId: number;
      webhookId: string;
      url: string | undefined;
      events: string[] | undefined;
      status: string | undefined;
    }
  | ({ kind: "rotateWebhook"; siteId: number; webhookId: string } & RotationAsked)
  | { kind: "endWebhookOverlap"; siteId: number; webhookId: string; expected: string | undefined }
  | { kind: "deleteWebhook"; siteId: number; webhookId: string }
  | { kind: "ping"; siteId: number; webhookId: string }
  | { kind: "redeliver"; siteId: number; webhookId: string; seq: number }
  | {
      kind: "redeliverMany";
      siteId: number;
      webhookId: string;
      since: number | undefined;
      until: number | undefined;
      afterSeq: number | undefined;
      statuses: string[];
      isDry: boolean;
    };

interface Body {
  url?: string;
  events?: string[];
  status?: string;
  overlap_seconds?: number;
  expected_version?: string;
  ends?: string;
}

/** The fields of a call that sends many events again. */
interface SendAgain {
  since?: number;
  until?: number;
  after_seq?: number;
  status?: string[];
  dry_run?: boolean;
}

/** @returns undefined for a path that is not about webhooks */
export function webhookIntentOf(method: string, parts: string[], fields: object): WebhookIntent | undefined {
  const { url, events, status, overlap_seconds: overlap = 86_400, expected_version: expected, ends } = fields as Body;
  const [, site, third, webhookId = "", fifth, seq, seventh] = parts;
  if (third !== "webhooks") return undefined;
  const about = { siteId: Number(site), webhookId };
  switch (`${method} ${[fifth, seq === undefined ? undefined : "*", seventh].filter(Boolean).join("/")}`) {
    case "POST ":
      return { kind: "addWebhook", siteId: Number(site), url: url ?? "", events };
    case "PATCH ":
      return { kind: "changeWebhook", ...about, url, events, status };
    case "DELETE ":
      return { kind: "deleteWebhook", ...about };
    case "POST rotate":
      return { kind: "rotateWebhook", ...about, overlap, expected, ends };
    case "POST end-overlap":
      return { kind: "endWebhookOverlap", ...about, expected };
    case "POST ping":
      return { kind: "ping", ...about };
    case "POST redeliver": {
      const { since, until, after_seq: afterSeq, status: statuses, dry_run: isDry = false } = fields as SendAgain;
      return {
        kind: "redeliverMany",
        ...about,
        since,
        until,
        afterSeq,
        isDry,
        statuses: statuses ?? DEFAULT_STATUSES,
      };
    }
    case "POST deliveries/*/redeliver":
      return { kind: "redeliver", ...about, seq: Number(seq) };
    default:
      return undefined;
  }
}
