import type { Row, RowChange } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";
import type { Operation, WrittenInHome } from "./intents.ts";

/**
 * docs/decisions.md, "two operators change one thing while D1 loses answers", and "what a rotation is compared with": a
 * call changes a row only if the row is still as the call has read it. So no call undoes a change that was made in
 * between.
 */

const SECRETS = ["version", "previous_version"];
/** The groups of columns that one decision changes, by table. */
const DECISIONS: Record<string, string[][]> = {
  home_sites: [["name", "status", "events", "retention_days", "revision"]],
  webhooks: [["url", "events", "status", "revision"], SECRETS],
  agents: [["name", "status", "revision"]],
  apps: [SECRETS],
};

interface Author {
  /** Undefined for SQL by hand. */
  by: Call | undefined;
  at: number;
}

export const nameOf = (home: string, { table, before, after }: RowChange): string => {
  const row = (after ?? before) as Row;
  return `${home} ${table} ${row.site_id} ${row.appid ?? row.id}`;
};

const decisionsOf = (home: string, change: RowChange): string[] =>
  (DECISIONS[change.table] ?? [])
    .filter((columns) => columns.some((column) => change.before?.[column] !== change.after?.[column]))
    .map((columns) => `${nameOf(home, change)} ${columns}`);

/** Tables whose deleted rows stay for a day. */
const STAYS_DELETED = ["admin_tokens", "people"];

/** Knows who changed each row last, and what was deleted. */
export class NoUndo {
  /** The last change of each decision, and the last one before it by another author. */
  readonly #last = new Map<string, Author & { before: Author | undefined }>();
  readonly #deletedNames = new Set<string>();

  /** Notes a changed row. `call` is undefined for SQL by hand. @param at the turn of its home */
  changed(home: string, call: Call | undefined, change: RowChange, at: number): void {
    const { table, before, after } = change;
    const name = nameOf(home, change);
    if ((table === "webhooks" && after === null) || (STAYS_DELETED.includes(table) && after?.deleted_at != null)) {
      this.#deletedNames.add(name);
    }
    if (before === null || after === null) return;
    for (const decision of decisionsOf(home, change)) {
      const last = this.#last.get(decision);
      this.#last.set(decision, { by: call, at, before: last?.by === call ? last?.before : last });
    }
  }

  /** Forgets the changes in a home that was restored. */
  forget(home: string): void {
    for (const name of this.#last.keys()) if (name.startsWith(`${home} `)) this.#last.delete(name);
    for (const name of this.#deletedNames) if (name.startsWith(`${home} `)) this.#deletedNames.delete(name);
  }

  /** @returns how a call's change undoes a newer change */
  undoes({ call, intent, changes }: Operation, change: WrittenInHome): string | undefined {
    const { home, table, before, after } = change;
    const name = nameOf(home, change);
    if (before === null) return this.#deletedNames.has(name) ? "it was deleted" : undefined;
    if (STAYS_DELETED.includes(table) && before.deleted_at !== null && after?.deleted_at === null)
      return "it was deleted";
    if (after === null || !["change", "rotate", "endOverlap"].includes(intent.kind)) return undefined;
    for (const decision of decisionsOf(home, change)) {
      if (intent.kind === "change" && changes.some((each) => nameOf(each.home, each) === name)) {
        return "the call has changed it before";
      }
      const last = this.#last.get(decision);
      const other = last?.by === call ? last.before : last;
      if (other !== undefined && other.at > (call.doing?.knows ?? 0)) {
        return `${other.by?.name ?? "a hand"} has changed it since the call has read it`;
      }
    }
    return undefined;
  }
}
