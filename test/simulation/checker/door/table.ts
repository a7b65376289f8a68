import type { Wire } from "../../world/call.ts";

/**
 * Who may make which call of the admin API: docs/operating.md, "Who may". Each role may do what those before it may.
 */
export const ROLES = ["viewer", "operator", "owner"] as const;

type Role = (typeof ROLES)[number];

/**
 * What a call is about. A token of one site may make those about its own site and its own apps, and sees of what is
 * about sites its own one. It may make none that is about the whole deployment.
 */
type About = "site" | "app" | "sites" | "deployment";

/** Each call, with `*` for what its path names, and the least role that it needs. */
const TABLE: Record<string, readonly [Role, About]> = {
  "GET sites": ["viewer", "sites"],
  "POST sites": ["operator", "deployment"],
  "PATCH sites/*": ["operator", "site"],
  "GET sites/*": ["viewer", "site"],
  "GET sites/*/export": ["owner", "site"],
  "DELETE sites/*": ["owner", "site"],
  "GET sites/*/apps": ["viewer", "site"],
  "POST sites/*/apps": ["operator", "site"],
  "POST apps/*/rotate": ["operator", "app"],
  "POST apps/*/end-overlap": ["operator", "app"],
  "DELETE apps/*": ["operator", "app"],
  "GET sites/*/agents": ["viewer", "site"],
  "POST sites/*/agents": ["operator", "site"],
  "PATCH sites/*/agents/*": ["operator", "site"],
  "GET sites/*/sessions": ["viewer", "site"],
  "GET sites/*/sessions/*": ["viewer", "site"],
  // One is to hand over, the other to erase.
  "POST sites/*/customers/*": ["owner", "site"],
  "GET sites/*/refusals": ["viewer", "site"],
  "GET sites/*/requests/*": ["viewer", "site"],
  "GET sites/*/usage": ["viewer", "site"],
  "GET requests/*": ["viewer", "sites"],
  "GET audit": ["viewer", "sites"],
  "GET sites/*/events": ["viewer", "site"],
  "GET sites/*/webhooks": ["viewer", "site"],
  "POST sites/*/webhooks": ["operator", "site"],
  "PATCH sites/*/webhooks/*": ["operator", "site"],
  "DELETE sites/*/webhooks/*": ["operator", "site"],
  "POST sites/*/webhooks/*/rotate": ["operator", "site"],
  "POST sites/*/webhooks/*/end-overlap": ["operator", "site"],
  "POST sites/*/webhooks/*/ping": ["operator", "site"],
  "GET sites/*/webhooks/*/deliveries": ["viewer", "site"],
  "POST sites/*/webhooks/*/redeliver": ["operator", "site"],
  "POST sites/*/webhooks/*/deliveries/*/redeliver": ["operator", "site"],
  "GET homes": ["viewer", "deployment"],
  "GET metrics": ["viewer", "deployment"],
  "GET homes/*/divergent": ["viewer", "deployment"],
  "POST homes/*/restored": ["owner", "deployment"],
  "POST reseal": ["owner", "deployment"],
  "GET tokens": ["owner", "deployment"],
  "POST tokens": ["owner", "deployment"],
  "DELETE tokens/*": ["owner", "deployment"],
};

/** The calls that are also about sites that end. To every other call these are unknown. */
const ENDED_TOO = ["GET sites/*", "DELETE sites/*"];

/** What a call asks for. */
export interface Asked {
  role: Role;
  about: About;
  /** What its path names first: a site, an appid, a home or a token. */
  first: string;
  query: URLSearchParams;
  /** Whether it may be about a site that ends. */
  endedToo: boolean;
}

/** @throws Error for a call that the table does not have */
export function askedOf({ method, path, body }: Wire): Asked {
  const { pathname, searchParams: query } = new URL(path, "https://worker.example");
  const parts = pathname.replace(/^\/admin\//, "").split("/");
  const name = `${method} ${parts.map((part, i) => (i % 2 === 1 ? "*" : part)).join("/")}`;
  const entry = TABLE[name];
  if (entry === undefined) throw new Error(`the checker does not know who may ${name}: say it here`);
  // Only an owner changes how long sessions are kept.
  const role = name === "PATCH sites/*" && body.includes('"retention_days"') ? "owner" : entry[0];
  return { role, about: entry[1], first: parts[1] ?? "", query, endedToo: ENDED_TOO.includes(name) };
}

/** Whether a role may do what needs another. */
export const mayDo = (role: unknown, needed: Role): boolean =>
  ROLES.indexOf(role as Role) >= ROLES.indexOf(needed) && ROLES.includes(role as Role);
