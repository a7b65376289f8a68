import type { Change, Row } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";
import type { Arrival } from "./customer-answers.ts";
import type { RotationAsked } from "./rotations.ts";
import { type WebhookIntent, webhookIntentOf } from "./webhook-intents.ts";

/** The purpose of a call of the admin API, read from its path and body: docs/operating.md, "Admin API". */
export type Intent =
  | { kind: "createSite"; name: string; home: string; firstChatId: number }
  | {
      kind: "changeSite";
      siteId: number;
      name: string | undefined;
      status: string | undefined;
      firstChatId: number | undefined;
      events: boolean | undefined;
      retentionDays: number | null | undefined;
    }
  | { kind: "deleteSite"; siteId: number; name: string }
  | { kind: "exportSite"; siteId: number; after: string | null; limit: number }
  | { kind: "issueApp"; siteId: number; name: string; appid: string | undefined; secret: string | undefined }
  | ({ kind: "rotate"; appid: string } & RotationAsked)
  | { kind: "endOverlap"; appid: string; expected: string | undefined }
  | { kind: "revoke"; appid: string }
  | { kind: "addAgent"; siteId: number; id: number; name: string }
  | { kind: "changeAgent"; siteId: number; id: number; name: string | undefined; status: string | undefined }
  | { kind: "reseal" }
  | { kind: "restored"; home: string; lift: number; reconciliationId: string | undefined; force: boolean }
  | { kind: "createToken"; name: string; role: string; ofSite: number | null; days: number | undefined }
  | { kind: "deleteToken"; id: string }
  | { kind: "eraseCustomer"; siteId: number; sbs: string }
  | { kind: "exportCustomer"; siteId: number; sbs: string; after: number }
  | { kind: "read"; path: string; query: URLSearchParams }
  | WebhookIntent;

/** An operator's call or a run of the cron job, with everything that the checker has seen of it. */
export interface Operation<Kind extends Intent = Intent> {
  call: Call;
  intent: Kind;
  /** Its changes so far, in their order. */
  changes: Written[];
  /** Every state since its arrival of the row that it changes. */
  rows: Row[];
  /** The seqs that a call that sends many events again may have found, at each moment since its arrival. */
  fitting: number[][];
  /** The statuses that it may be answered: each fits what was stored at some moment since its arrival. */
  possible: Set<string>;
  /** The highest chat id of each site of its home when it arrived. */
  highest: Map<number, number>;
  /** The versions of secrets that other calls have stored since its arrival. */
  meanwhile: Set<unknown>;
  /** What an export may answer, at each moment since its arrival: as JSON. */
  exported: string[];
  /** What was stored of a customer when a call to erase them arrived. */
  arrival: Arrival | undefined;
  /** Whether a home was restored since its arrival. */
  disturbed: boolean;
}

export type OperationOf<Kind extends Intent["kind"]> = Operation<Extract<Intent, { kind: Kind }>>;

/** A change of a row, with the name of its home. */
export type Written = Change & { home: string };

/** The fields of a body, as the simulation's operators send them. */
interface Body {
  name?: string;
  home?: string;
  first_chat_id?: number;
  events?: boolean;
  retention_days?: number | null;
  status?: string;
  appid?: string;
  secret?: string;
  overlap_seconds?: number;
  expected_version?: string;
  ends?: string;
  id?: number;
  lift?: number;
  settling_id?: string;
  force?: boolean;
  role?: string;
  site_id?: number;
  expires_in_days?: number;
  sbs?: string | number;
  cursor?: string;
}

/** @returns undefined for a path of no documented call */
export function intentOf({ wire }: Call): Intent | undefined {
  const { pathname, searchParams } = new URL(wire.path, "https://worker.example");
  const path = pathname.replace(/^\/admin/, "");
  const parts = path.split("/").slice(1);
  const body: Body = wire.body === "" ? {} : (JSON.parse(wire.body) as Body);
  const [, second = "", , fourth = ""] = parts;
  const siteId = Number(second);
  const pattern = parts.map((part, i) => (i % 2 === 1 ? "*" : part)).join("/");
  switch (`${wire.method} ${pattern}`) {
    case "POST sites": {
      const { name = "", home = "main", first_chat_id = 1 } = body;
      return { kind: "createSite", name, home, firstChatId: first_chat_id };
    }
    case "PATCH sites/*": {
      const { name, status, first_chat_id: firstChatId, events, retention_days: retentionDays } = body;
      return { kind: "changeSite", siteId, name, status, firstChatId, events, retentionDays };
    }
    case "DELETE sites/*":
      return { kind: "deleteSite", siteId, name: body.name ?? "" };
    case "GET sites/*/export":
      return {
        kind: "exportSite",
        siteId,
        after: searchParams.get("after"),
        limit: Number(searchParams.get("limit") ?? 200),
      };
    case "POST sites/*/apps":
      return { kind: "issueApp", siteId, name: body.name ?? "", appid: body.appid, secret: body.secret };
    case "POST apps/*/rotate":
      return {
        kind: "rotate",
        appid: second,
        overlap: body.overlap_seconds ?? 86_400,
        expected: body.expected_version,
        ends: body.ends,
      };
    case "POST apps/*/end-overlap":
      return { kind: "endOverlap", appid: second, expected: body.expected_version };
    case "DELETE apps/*":
      return { kind: "revoke", appid: second };
    case "POST sites/*/agents":
      return { kind: "addAgent", siteId, id: body.id ?? 0, name: body.name ?? "" };
    case "PATCH sites/*/agents/*":
      return { kind: "changeAgent", siteId, id: Number(fourth), name: body.name, status: body.status };
    case "POST reseal":
      return { kind: "reseal" };
    case "POST tokens": {
      const { name = "", role = "", site_id: ofSite = null, expires_in_days: days } = body;
      return { kind: "createToken", name, role, ofSite, days };
    }
    case "DELETE tokens/*":
      return { kind: "deleteToken", id: second };
    case "POST sites/*/customers/*": {
      const sbs = String(body.sbs);
      if (fourth === "erase") return { kind: "eraseCustomer", siteId, sbs };
      return { kind: "exportCustomer", siteId, sbs, after: Number(body.cursor ?? 0) };
    }
    case "POST homes/*/restored":
      return {
        kind: "restored",
        home: second,
        lift: body.lift ?? 1_000_000,
        reconciliationId: body.settling_id,
        force: body.force ?? false,
      };
    default:
      return wire.method === "GET"
        ? { kind: "read", path, query: searchParams }
        : webhookIntentOf(wire.method, parts, body);
  }
}
