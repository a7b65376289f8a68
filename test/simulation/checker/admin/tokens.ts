import type { Row } from "../../platform/database.ts";
import { ROLES } from "../door/table.ts";
import { hasForm, hashOf } from "../door/token-text.ts";
import { hasEnded, type Model } from "../model.ts";
import { sorted } from "./audit-details.ts";
import type { OperationOf, Written } from "./intents.ts";
import { becomes, inserts } from "./row-changes.ts";

/** Tokens for programs, `POST /tokens`: docs/operating.md, "Tokens". */

const DAY = 86_400;

type Made = OperationOf<"createToken">;
type Deleted = OperationOf<"deleteToken">;

/** The status that a call gets for what is stored now, when no fault meets it. */
export function statusOfTokens(model: Model, intent: (Made | Deleted)["intent"]): number {
  if (intent.kind === "deleteToken") return model.tokens.get(intent.id)?.deleted_at === null ? 204 : 404;
  const { role, ofSite, days = 1 } = intent;
  const isBad = !ROLES.includes(role as never) || days < 1 || days > 3_650 || (role === "owner" && ofSite !== null);
  const site = ofSite === null ? undefined : model.directory.get(ofSite);
  return isBad || (ofSite !== null && (site === undefined || hasEnded(site))) ? 400 : 201;
}

const rowAsked = ({ call, intent: { name, role, ofSite, days } }: Made): Row => ({
  name,
  role,
  site_id: ofSite,
  created_at: call.clock,
  last_used_at: null,
  deleted_at: null,
  expires_at: days === undefined ? null : call.clock + days * DAY,
});

/** @returns how a change by a call about tokens is wrong */
export function wrongTokenWrite(operation: Made | Deleted, change: Written): string | undefined {
  const { call, intent, changes } = operation;
  if (change.table !== "admin_tokens" || change.home !== "main") return "not the place of tokens";
  if (changes.length > 0) return "the call has done that already";
  if (intent.kind === "createToken") return inserts(change, rowAsked({ ...operation, intent }));
  const { before } = change;
  if (before?.id !== intent.id || before.deleted_at !== null) return "not the token, or it was deleted before";
  return becomes(change, { ...before, deleted_at: call.clock });
}

/** @returns how the audit rows of one transaction about tokens are wrong */
export function wrongTokenAudit(rows: readonly Row[], changes: readonly Written[]): string | undefined {
  const expected = changes
    .filter(({ table }) => table === "admin_tokens")
    .map(({ before, after }) => {
      const { site_id, id, name, role } = after ?? {};
      return `null ${before === null ? "token.created" : "token.deleted"} ${id} ${sorted({ name, role, site_id })}`;
    });
  const said = rows.map(
    ({ site_id, action, subject, details }) =>
      `${site_id} ${action} ${subject} ${sorted(JSON.parse(String(details)) as object)}`,
  );
  return said.join() === expected.join() ? undefined : `the audit log says ${said}, expected ${expected}`;
}

/** @returns how a 2xx answer about tokens is wrong */
export function wrongTokenAnswer(
  model: Model,
  { intent, changes }: Made | Deleted,
  body: Record<string, unknown>,
): string | undefined {
  if (intent.kind === "deleteToken") {
    return model.tokens.get(intent.id)?.deleted_at === null ? "the token is not deleted" : undefined;
  }
  const row = changes.at(-1)?.after;
  const { token, ...rest } = body;
  if (row == null) return "it made no token";
  if (!hasForm(String(token))) return "it has not the form that scanners know";
  if (row.hash !== hashOf(String(token))) return "another token is stored";
  const { id, name, role, site_id, expires_at } = row;
  const expected = { id, name, role, site_id, expires_at };
  return sorted(rest) === sorted(expected) ? undefined : `expected ${JSON.stringify(expected)}`;
}

/** The tokens that a list shows, by their ids. Expired ones too. */
export const tokensNow = ({ tokens }: Model) =>
  [...tokens.values()]
    .filter(({ deleted_at }) => deleted_at === null)
    .sort((a, b) => (String(a.id) < String(b.id) ? -1 : 1))
    .map(({ hash: _, deleted_at: _deleted, ...item }) => ({ key: String(item.id), item }));
