import type { Row, RowChange } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";

/** A row that a call changes, by its table, its site and its own id. */
interface Subject {
  table: "home_sites" | "agents" | "apps" | "webhooks";
  /** Undefined for an app, because the path does not name its site. */
  siteId: number | undefined;
  /** An appid, or the id of an agent, a webhook or the site itself. */
  id: string;
}

/** The purpose of a call of the admin API, read from its path and body: docs/operating.md, "Admin API". */
export type Intent =
  | { kind: "createSite"; name: string; home: string; firstChatId: number }
  /** A PATCH. `wantedColumns` has the values in its body, by columns. */
  | ({ kind: "change"; wantedColumns: Row } & Subject)
  | ({ kind: "add"; appid?: string | undefined; secret?: string | undefined } & Omit<Subject, "id">)
  | ({ kind: "rotate"; overlap: number; expected: string | undefined; ends: string | undefined } & Subject)
  | ({ kind: "endOverlap"; expected: string | undefined } & Subject)
  | { kind: "revoke"; appid: string }
  | { kind: "deleteSite"; siteId: number; name: string }
  | { kind: "deleteWebhook"; siteId: number; webhookId: string }
  /** Sends a ping, one event or many events to a webhook. */
  | { kind: "send"; siteId: number; webhookId: string; what: "ping" | "redeliver" | "many" }
  | { kind: "addToken" }
  | { kind: "deleteToken"; id: string }
  | { kind: "addPerson" }
  | { kind: "endPerson"; id: string }
  | { kind: "reseal" }
  | { kind: "restored"; home: string; lift: number; reconciliationId: string | undefined; force: boolean }
  | { kind: "eraseCustomer"; siteId: number; sbs: string };

/** An operator's call, with all that the checker has seen of it. */
export interface Operation<Kind extends Intent = Intent> {
  call: Call;
  intent: Kind;
  /** Its changes so far, in their order. */
  changes: WrittenInHome[];
  /** Every state of the row that it changes, since its arrival. */
  rows: Row[];
  /** The actions and subjects of its audit rows so far. */
  audits: Set<string>;
  /** The highest chat id of each site of its home when it arrived. */
  highest: Map<number, number>;
  /** The versions of secrets that other calls have stored since its arrival. */
  meanwhile: Set<unknown>;
  /** Whether another call has issued or released the same appid meanwhile. */
  isTouched: boolean;
  /** Whether a home was restored since its arrival. */
  isDisturbed: boolean;
}

export type OperationOf<Kind extends Intent["kind"]> = Operation<Extract<Intent, { kind: Kind }>>;

/** A change of a row, with the name of its home. */
export type WrittenInHome = RowChange & { home: string };

/** The fields of a body, as the simulation's operators send them. */
export interface Body {
  name?: string;
  home?: string;
  first_chat_id?: number;
  events?: boolean | string[];
  retention_days?: number | null;
  status?: string;
  url?: string;
  appid?: string;
  secret?: string;
  overlap_seconds?: number;
  expected_version?: string;
  ends?: string;
  lift?: number;
  settling_id?: string;
  force?: boolean;
  sbs?: string | number;
}

/** The values in the body of a PATCH, as their columns store them. */
function askedBy({ name, first_chat_id, events, retention_days, status, url }: Body): Row {
  const columns: Record<string, Row[string] | undefined> = {
    name,
    status,
    url,
    chat_id_floor: first_chat_id && first_chat_id - 1,
    events: Array.isArray(events)
      ? JSON.stringify([...new Set(events)])
      : events === undefined
        ? events
        : Number(events),
    retention_days,
  };
  return Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== undefined)) as Row;
}

/** @returns undefined for a read, and for a path of no documented call */
export function intentOf({ wire }: Call): Intent | undefined {
  const { pathname } = new URL(wire.path, "https://worker.example");
  const [first, second = "", third, fourth = "", fifth] = pathname.replace(/^\/admin\//, "").split("/");
  const body: Body = wire.body === "" ? {} : (JSON.parse(wire.body) as Body);
  const siteId = Number(second);
  const { expected_version: expected, overlap_seconds: overlap = 86_400, ends, name = "" } = body;
  const { home = "main", first_chat_id: firstChatId = 1, appid, secret, sbs } = body;
  const { lift = 1_000_000, settling_id: reconciliationId, force = false } = body;
  const wantedColumns = askedBy(body);
  const ofSite = { table: "home_sites", siteId, id: second } as const;
  const app = { table: "apps", siteId: undefined, id: second } as const;
  const agent = { table: "agents", siteId, id: fourth } as const;
  const webhook = { table: "webhooks", siteId, id: fourth } as const;
  const send = { kind: "send", siteId, webhookId: fourth } as const;
  const intents: Record<string, Intent | undefined> = {
    "POST sites": { kind: "createSite", name, home, firstChatId },
    "PATCH sites": { kind: "change", ...ofSite, wantedColumns },
    "DELETE sites": { kind: "deleteSite", siteId, name },
    "POST sites apps": { kind: "add", table: "apps", siteId, appid, secret },
    "POST apps rotate": { kind: "rotate", ...app, overlap, expected, ends },
    "POST apps end-overlap": { kind: "endOverlap", ...app, expected },
    "DELETE apps": { kind: "revoke", appid: second },
    "POST sites agents": { kind: "add", table: "agents", siteId },
    "PATCH sites agents": { kind: "change", ...agent, wantedColumns },
    "POST sites webhooks": { kind: "add", table: "webhooks", siteId },
    "PATCH sites webhooks": { kind: "change", ...webhook, wantedColumns },
    "DELETE sites webhooks": { kind: "deleteWebhook", siteId, webhookId: fourth },
    "POST sites webhooks rotate": { kind: "rotate", ...webhook, overlap, expected, ends },
    "POST sites webhooks end-overlap": { kind: "endOverlap", ...webhook, expected },
    "POST sites webhooks ping": { ...send, what: "ping" },
    "POST sites webhooks redeliver": { ...send, what: "many" },
    "POST sites webhooks deliveries": { ...send, what: "redeliver" },
    "POST tokens": { kind: "addToken" },
    "DELETE tokens": { kind: "deleteToken", id: second },
    "POST people": { kind: "addPerson" },
    "DELETE people": { kind: "endPerson", id: second },
    "POST reseal": { kind: "reseal" },
    "POST sites customers": fourth === "erase" ? { kind: "eraseCustomer", siteId, sbs: String(sbs) } : undefined,
    "POST homes restored": { kind: "restored", home: second, lift, reconciliationId, force },
  };
  return intents[[wire.method, first, third, fifth].filter((part) => part !== undefined).join(" ")];
}
