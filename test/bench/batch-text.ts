import createSession from "../../src/core/operations/create-session.ts";
import type { OperationInput } from "../../src/core/operations/operation.ts";
import type { ClaimRequest } from "../../src/core/store/claim.ts";

/** A statement of the production batch: its text, and the name of each value it binds. */
export interface NamedStatement {
  sql: string;
  names: string[];
}

const CLAIM = [
  "appid",
  "siteId",
  "secretVersion",
  "clientNetwork",
  "events",
  "ranstr",
  "owner",
  "now",
  "nonceExpiresAt",
  "fingerprint",
  "keyExpiresAt",
  "eventId",
];

/**
 * The statements of a create_gd without a key, as the production code builds them. A Worker without that code binds
 * their values itself.
 */
export function createBatchText(): NamedStatement[] {
  // Each value is its own name. So the bound values show which name belongs in which place.
  const operationInput = createSession.read({
    sbs: "s",
    ip: "::1",
    sbs_mc: "n",
    content: "c",
    kefu_id: [1],
    fzr_uid: 1,
  });
  if (!operationInput.ok) throw new Error(operationInput.reason);
  const named = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, name]));
  const bound = named(Object.keys(operationInput.value.bound)) as OperationInput["bound"];
  const request = { ...named(CLAIM), key: null } as unknown as ClaimRequest;
  const db = {
    prepare: (sql: string) => ({
      bind: (...bound: (string | null)[]) => ({ sql, names: bound.map((name) => name ?? "key") }),
    }),
  };
  const attempt = "attempt" as unknown as number;
  const batch = createSession.batch(db as unknown as D1Database, request, { input: null, bound }, attempt);
  return Object.values(batch)
    .flat()
    .filter((part) => part !== undefined) as never;
}
