import { AppRecords } from "../../callers/rules/app-records.ts";
import { hasEnded, type Model } from "../../checker/model.ts";
import type { Violate } from "../../checker/violate.ts";
import { isErasing, noteErasing, wrongErasing } from "../../erasure/rules/erasures.ts";
import type { Row, RowChange } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";
import { wrongAudit } from "./audit.ts";
import { type Intent, intentOf, type Operation } from "./intents.ts";
import { NoUndo } from "./no-undo.ts";
import { undoneBy } from "./undone-changes.ts";
import { findUndone } from "./whole-changes.ts";
import { wrongWrite } from "./writes.ts";

/** Checks that operators' calls write what they ask for, and that what their answers say is done. */
export class Operators {
  readonly records: AppRecords;
  readonly #model: Model;
  readonly #violate: Violate;
  readonly #operations = new Map<Call, Operation>();
  /** Operations without an answer yet. */
  readonly #open = new Set<Operation>();
  readonly #noUndo = new NoUndo();

  constructor(model: Model, violate: Violate) {
    this.#model = model;
    this.#violate = violate;
    this.records = new AppRecords(violate);
  }

  arrives(call: Call): void {
    const intent = intentOf(call);
    if (intent === undefined || call.role !== "operator") return;
    const operation: Operation = {
      call,
      intent,
      changes: [],
      rows: [],
      audits: new Set(),
      highest: new Map(),
      meanwhile: new Set(),
      isTouched: false,
      isDisturbed: false,
    };
    if (intent.kind === "restored") {
      const home = this.#model.home(intent.home);
      for (const siteId of home.sites.keys()) operation.highest.set(siteId, home.highestId(siteId));
    }
    this.#operations.set(call, operation);
    this.#open.add(operation);
    this.#look(operation);
  }

  /** Notes the states that the answers of the open calls may show. */
  look(): void {
    for (const operation of this.#open) this.#look(operation);
  }

  ends(call: Call): void {
    const operation = this.#operations.get(call);
    if (operation !== undefined) this.#open.delete(operation);
  }

  /** Notes that a home was restored. */
  disturb(home: string): void {
    for (const operation of this.#open) operation.isDisturbed = true;
    this.#noUndo.forget(home);
  }

  /** Notes a changed row. `call` is undefined for SQL by hand. @param at the turn of its home */
  noteChanged(home: string, call: Call | undefined, change: RowChange, at: number): void {
    this.#noUndo.changed(home, call, change, at);
    const { table, before, after } = change;
    for (const operation of this.#open) {
      if (operation.call === call) continue;
      if (table === "apps" || table === "webhooks") operation.meanwhile.add(after?.version);
      // A call that asks for an appid and a call that releases it may disturb each other.
      const { intent } = operation;
      const isOfAppid = (table === "apps" || table === "app_routes") && intent.kind === "revoke";
      if (isOfAppid && intent.appid === (after ?? before)?.appid) operation.isTouched = true;
    }
  }

  checkWritten(home: string, call: Call, changes: RowChange[]): void {
    const operation = this.#operations.get(call);
    const writes = changes.map((change) => ({ ...change, home }));
    const breaks = (rule: string, what: string) => this.#violate(rule, `${call.name} at ${home}: ${what}`, [call.name]);
    if (operation === undefined) {
      breaks("only operators write through the admin API", JSON.stringify(changes));
      return;
    }
    const auditError = wrongAudit(operation, writes);
    if (auditError !== undefined)
      breaks("the audit log has each change of an operator once, in the same transaction", auditError);
    const { intent } = operation;
    if (intent.kind === "eraseCustomer" || (intent.kind === "restored" && isErasing(writes))) {
      const wrong = wrongErasing(this.#model, operation, writes);
      if (wrong !== undefined)
        breaks("an erasure deletes the sessions that the customer had when it began, whole, and nothing else", wrong);
      noteErasing(this.#model, operation, writes);
      operation.changes.push(...writes.filter(({ table }) => table !== "audit_log"));
      return;
    }
    const leftover = findUndone(this.#model, operation, writes);
    if (leftover !== undefined) breaks("a change of a webhook changes all of its deliveries too", leftover);
    for (const write of writes) {
      if (write.table === "audit_log") continue;
      const newer = this.#noUndo.undoes(operation, write);
      if (newer !== undefined) breaks("no newer change is undone", `${newer}: ${JSON.stringify(write)}`);
      const wrong = wrongWrite(this.#model, operation, write);
      if (wrong !== undefined) breaks(wrong[0], `${wrong[1]}: ${JSON.stringify(write)}`);
      operation.changes.push(write);
      if (intent.kind === "change" && write.table === "home_sites") {
        this.#model.changedSinceRestore.add(`${home}/${intent.siteId}`);
      }
    }
  }

  checkAnswer(call: Call): void {
    const operation = this.#operations.get(call);
    if (operation === undefined || call.answer === undefined) return;
    this.#open.delete(operation);
    const { intent, changes, isDisturbed } = operation;
    const { status, body } = call.answer;
    const description = `${call.name} ${call.wire.method} ${call.wire.path} ${call.wire.body} was answered ${status} ${body}`;
    const breaks = (rule: string, what = "") => this.#violate(rule, description + what, [call.name]);
    const hadFaults = call.faults.length > 0 || isDisturbed;
    if (status >= 400 && status < 500 && !hadFaults && !this.#mayHaveChanged(operation, status)) {
      breaks("a refused call of an operator changes nothing");
    }
    const appRow = changes.findLast(({ table }) => table === "apps")?.after;
    if (intent.kind === "rotate" && status === 409 && !isDisturbed && appRow != null) {
      const app = this.#model.listedApp(intent.id);
      // Without the answer, nobody would ever know the valid secret.
      if (app !== undefined && !app.isRevoked && app.version === appRow.version)
        breaks("a secret is never lost, and becomes invalid only by an operator's call");
    }
    if (status === 202 && intent.kind === "deleteSite") this.#ends(intent.siteId);
    if (status >= 300 || isDisturbed) return;
    const wrong = undoneBy(this.#model, operation);
    if (wrong !== undefined) breaks("what an answer tells an operator is done", `: ${wrong}`);
    // The record in KV follows each change of an app.
    if (appRow != null && intent.kind !== "reseal" && intent.kind !== "deleteSite" && intent.kind !== "restored") {
      this.records.expect(call, appRow);
    }
    if (intent.kind === "createSite" && !hadFaults) {
      const { id } = JSON.parse(body) as { id: number };
      if (!changes.some(({ table, before, after }) => table === "sites" && before !== null && after?.id === id))
        breaks("each call that creates a site makes a site of its own");
    }
  }

  #look({ intent, rows }: Operation): void {
    const row = rowOf(this.#model, intent);
    if (row !== undefined && row !== rows.at(-1)) rows.push(row);
  }

  /**
   * Whether a refused call may have made these changes. An appid may stay reserved. A release first changes the site's
   * revision, to stop calls that issue the appid. The site's end may come in between.
   */
  #mayHaveChanged({ intent, changes }: Operation, status: number): boolean {
    const siteId = "siteId" in intent ? intent.siteId : undefined;
    const appid = intent.kind === "revoke" ? intent.appid : "id" in intent ? intent.id : "";
    const entry = this.#model.directory.get(siteId ?? this.#model.routes.get(appid) ?? 0);
    if (status === 404 && (entry === undefined || hasEnded(entry))) return true;
    return changes.every(({ table }) => table === "app_routes" || (table === "home_sites" && intent.kind === "revoke"));
  }

  /** Notes that an answer has said that a site's deletion has begun. */
  #ends(siteId: number): void {
    const home = this.#model.directory.get(siteId)?.home;
    const end = this.#model.ends.get(`${home}/${siteId}`);
    if (end !== undefined) end.isAnswered = true;
  }
}

/** The row that a call changes, as its home has it now; undefined for other calls. */
function rowOf(model: Model, intent: Intent): Row | undefined {
  if (intent.kind !== "change" && intent.kind !== "endOverlap") return undefined;
  const { table, siteId = 0, id } = intent;
  if (table === "apps") return model.listedApp(id)?.row;
  const home = model.homes.get(model.directory.get(siteId)?.home ?? "");
  if (table === "home_sites") return home?.sites.get(siteId)?.row;
  return table === "agents" ? home?.agents.get(`${siteId}/${id}`) : home?.outbox.webhooks.get(`${siteId}/${id}`);
}
