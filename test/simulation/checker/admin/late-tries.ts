import type { Change, Row } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";
import type { Model } from "../model.ts";
import type { Intent, Operation, Written } from "./intents.ts";

/**
 * docs/operating.md, "Admin API": two operators may change the same row while D1 is slow. A late try never undoes a
 * change that was answered after the call began.
 */

/** The columns that a PATCH changes and other calls change too, by table. */
const COLUMNS: Record<string, string[]> = {
  home_sites: ["name", "status", "events", "retention_days", "revision"],
  webhooks: ["url", "events", "status", "revision"],
  agents: ["name", "status", "revision"],
};

const PATCHES: Intent["kind"][] = ["changeSite", "changeWebhook", "changeAgent"];

/** The site, agent, webhook or app that a call changes, as its home has it now; undefined for other calls. */
export function rowOf(model: Model, intent: Intent): Row | undefined {
  if (intent.kind === "endOverlap") return model.listedApp(intent.appid)?.row;
  if (!("siteId" in intent)) return undefined;
  const { siteId } = intent;
  const home = model.homes.get(model.directory.get(siteId)?.home ?? "");
  if (intent.kind === "changeSite") return home?.sites.get(siteId)?.row;
  if (intent.kind === "changeAgent") return home?.agents.get(`${siteId}/${intent.id}`);
  return "webhookId" in intent ? home?.outbox.webhooks.get(`${siteId}/${intent.webhookId}`) : undefined;
}

/**
 * The rows that a PATCH may be answered with: every state of the row since the call arrived that has the values asked
 * for.
 */
export const answerable = ({ rows, changes }: Operation, table: string, wanted: Row): Row[] =>
  [...rows, ...changes.flatMap((each) => (each.table === table && each.after !== null ? [each.after] : []))].filter(
    (row) => Object.entries(wanted).every(([column, value]) => row[column] === value),
  );

const nameOf = (home: string, { table, before, after }: Change): string => {
  const row = after ?? before;
  return `${home} ${table} ${row?.site_id} ${table === "home_sites" ? "" : row?.id}`;
};

/** Keeps the last change of each row, and which calls were answered before it. */
export class LateTries {
  readonly #last = new Map<string, { by: Call | undefined; at: number }>();
  readonly #answered = new Map<Call, number>();
  #now = 0;

  answered(call: Call): void {
    this.#answered.set(call, ++this.#now);
  }

  /** A row was changed: by a call, by the Worker itself, or by a hand at the database. */
  changed(home: string, call: Call | undefined, change: Change): void {
    const { before, after } = change;
    const isTold = COLUMNS[change.table]?.some((column) => before?.[column] !== after?.[column]);
    if (isTold) this.#last.set(nameOf(home, change), { by: call, at: ++this.#now });
  }

  /** A home was restored. */
  forget(home: string): void {
    for (const name of this.#last.keys()) if (name.startsWith(`${home} `)) this.#last.delete(name);
  }

  /** @returns which later change a late try of a PATCH undoes; undefined when it undoes none */
  undone({ call, intent, changes }: Operation, change: Written): string | undefined {
    if (!PATCHES.includes(intent.kind) || COLUMNS[change.table] === undefined) return undefined;
    const name = nameOf(change.home, change);
    if (changes.some((each) => nameOf(each.home, each) === name)) return "the call has changed it before";
    const last = this.#last.get(name);
    const answeredAt = this.#answered.get(call);
    if (last === undefined || answeredAt === undefined || last.by === call || last.at < answeredAt) return undefined;
    return `${last.by?.name ?? "a hand"} has changed it since the call was answered`;
  }
}
