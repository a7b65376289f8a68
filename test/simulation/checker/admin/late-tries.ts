import type { Change, Row } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";
import type { Model } from "../model.ts";
import type { Intent, Operation, Written } from "./intents.ts";

/**
 * docs/operating.md, "Admin API": two operators may change the same thing while D1 is slow. What was asked first never undoes what was
 * answered later.
 */

/** The columns of what operators change by a PATCH, that others change too. */
const COLUMNS: Record<string, string[]> = {
  home_sites: ["name", "status", "events", "revision"],
  webhooks: ["url", "events", "status", "revision"],
  agents: ["name", "status", "revision"],
};

const PATCHES: Intent["kind"][] = ["changeSite", "changeWebhook", "changeAgent"];

/** The site, the agent or the webhook that a call changes, as its home has it now; undefined for other calls. */
export function rowOf(model: Model, intent: Intent): Row | undefined {
  if (!("siteId" in intent)) return undefined;
  const { siteId } = intent;
  const home = model.homes.get(model.directory.get(siteId)?.home ?? "");
  if (intent.kind === "changeSite") return home?.sites.get(siteId)?.row;
  if (intent.kind === "changeAgent") return home?.agents.get(`${siteId}/${intent.id}`);
  return "webhookId" in intent ? home?.outbox.webhooks.get(`${siteId}/${intent.webhookId}`) : undefined;
}

/** The rows that a PATCH may have been answered from: all that there were since it arrived, and have what it asks for. */
export const answerable = ({ rows, changes }: Operation, table: string, wanted: Row): Row[] =>
  [...rows, ...changes.flatMap((each) => (each.table === table && each.after !== null ? [each.after] : []))].filter(
    (row) => Object.entries(wanted).every(([column, value]) => row[column] === value),
  );

const nameOf = (home: string, { table, before, after }: Change): string => {
  const row = after ?? before;
  return `${home} ${table} ${row?.site_id} ${table === "home_sites" ? "" : row?.id}`;
};

/** Knows who has changed what last, and which calls were answered before. */
export class LateTries {
  readonly #last = new Map<string, { by: Call | undefined; at: number }>();
  readonly #answered = new Map<Call, number>();
  #now = 0;

  answered(call: Call): void {
    this.#answered.set(call, ++this.#now);
  }

  /** Somebody has changed a row, perhaps the Worker itself. */
  changed(home: string, call: Call | undefined, change: Change): void {
    const { before, after } = change;
    const isTold = COLUMNS[change.table]?.some((column) => before?.[column] !== after?.[column]);
    if (isTold) this.#last.set(nameOf(home, change), { by: call, at: ++this.#now });
  }

  /** A home was taken back. */
  forget(home: string): void {
    for (const name of this.#last.keys()) if (name.startsWith(`${home} `)) this.#last.delete(name);
  }

  /** @returns what a change of a PATCH undoes; undefined when it is no late one */
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
