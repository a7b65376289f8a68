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
  | { kind: "rotateWebhook"; siteId: number; webhookId: string; overlap: number }
  | { kind: "deleteWebhook"; siteId: number; webhookId: string }
  | { kind: "ping"; siteId: number; webhookId: string }
  | { kind: "redeliver"; siteId: number; webhookId: string; seq: number };

interface Body {
  url?: string;
  events?: string[];
  status?: string;
  overlap_seconds?: number;
}

/** @returns undefined for a path that is not about webhooks */
export function webhookIntentOf(method: string, parts: string[], fields: object): WebhookIntent | undefined {
  const { url, events, status, overlap_seconds: overlap = 86_400 } = fields as Body;
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
      return { kind: "rotateWebhook", ...about, overlap };
    case "POST ping":
      return { kind: "ping", ...about };
    case "POST deliveries/*/redeliver":
      return { kind: "redeliver", ...about, seq: Number(seq) };
    default:
      return undefined;
  }
}
