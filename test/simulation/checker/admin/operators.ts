import type { Change } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";
import { Door } from "../door/door.ts";
import { hasForm } from "../door/token-text.ts";
import { bearerOf } from "../door/visitor.ts";
import { hasEnded, type Model } from "../model.ts";
import type { Violate } from "../violate.ts";
import { wrongAnswer } from "./admin-answers.ts";
import { wrongWrite } from "./admin-writes.ts";
import { AppRecords } from "./app-records.ts";
import { wrongAudit } from "./audit.ts";
import { arrivalOf, exportNow, sorted } from "./customer-answers.ts";
import { isErasing, noteErasing, wrongErasing } from "./erasures.ts";
import { type Intent, intentOf, type Operation, type OperationOf, type Written } from "./intents.ts";
import { LateTries, rowOf } from "./late-tries.ts";
import { AdminReads } from "./reads.ts";
import { fittingNow } from "./redeliveries.ts";
import { GIVING, WRITES } from "./rules.ts";
import { siteExportNow } from "./site-reads.ts";
import { statusNow } from "./status-now.ts";
import { leftUndone } from "./whole-changes.ts";

/** Calls that change an app's record in KV. */
const CHANGES_OF_APPS: Intent["kind"][] = ["issueApp", "rotate", "endOverlap", "revoke"];

/** Calls that end an overlap. */
const ENDS: Intent["kind"][] = ["endOverlap", "endWebhookOverlap"];

/** Checks the writes and the answers of operators' calls against the calls' purpose. */
export class Operators {
  readonly records: AppRecords;
  readonly door: Door;
  readonly #model: Model;
  readonly #violate: Violate;
  readonly #operations = new Map<Call, Operation>();
  /** Operations without an answer yet. */
  readonly #open = new Set<Operation>();
  readonly #reads: AdminReads;
  readonly #lateTries = new LateTries();
  /** The calls that end an overlap, with the versions of rotations that came after they had read the version. */
  readonly #newer = new Map<Operation, Set<unknown>>();

  constructor(model: Model, violate: Violate) {
    this.#model = model;
    this.#violate = violate;
    this.records = new AppRecords(violate);
    this.door = new Door(model, violate);
    this.#reads = new AdminReads(model, this.records, violate);
  }

  arrives(call: Call): void {
    this.door.arrives(call);
    const intent = intentOf(call);
    if (intent === undefined || call.role !== "operator") return;
    const operation: Operation = {
      call,
      intent,
      changes: [],
      rows: [],
      fitting: [],
      possible: new Set(),
      highest: new Map(),
      meanwhile: new Set(),
      exported: [],
      arrival: intent.kind === "eraseCustomer" ? arrivalOf(this.#model, intent) : undefined,
      disturbed: false,
    };
    if (intent.kind === "restored") {
      const home = this.#model.home(intent.home);
      for (const siteId of home.sites.keys()) operation.highest.set(siteId, home.highestId(siteId));
    }
    if (intent.kind === "read") this.#reads.arrives(call, intent);
    this.#operations.set(call, operation);
    if (ENDS.includes(intent.kind)) this.#newer.set(operation, new Set());
    this.#open.add(operation);
    this.#look(operation);
  }

  /** Notes which answers the open calls may get at this moment. */
  look(): void {
    this.door.look();
    for (const operation of this.#open) this.#look(operation);
  }

  ends(call: Call): void {
    this.door.ends(call);
    const operation = this.#operations.get(call);
    if (operation !== undefined) this.#open.delete(operation);
    this.#reads.ends(call);
  }

  /** A home was restored. */
  disturb(home: string): void {
    for (const operation of this.#open) operation.disturbed = true;
    this.#lateTries.forget(home);
  }

  /** A row was changed, by any call or by a hand at the database. */
  noteChanged(home: string, call: Call | undefined, change: Change): void {
    this.#lateTries.changed(home, call, change);
    if (change.table !== "apps" && change.table !== "webhooks") return;
    for (const [{ call: ending }, versions] of this.#newer) {
      // A call that ends an overlap writes in batches, and reads before the first of them.
      const hasRead = ending.trips.some(({ to }) => to.endsWith(" batch"));
      const isRotation = change.before?.version !== change.after?.version;
      if (ending !== call && hasRead && isRotation) versions.add(change.after?.version);
    }
    for (const operation of this.#open) if (operation.call !== call) operation.meanwhile.add(change.after?.version);
  }

  checkWritten(home: string, call: Call, changes: Change[]): void {
    if (this.door.checkWritten(home, call, changes)) return;
    const operation = this.#operations.get(call);
    const located = changes.map((change) => ({ ...change, home }));
    const unaudited = operation && wrongAudit(operation, located);
    if (unaudited !== undefined) {
      const rule = "each change of an operator leaves its row in the audit log, in the same transaction";
      this.#violate(rule, `${call.name} at ${home}: ${unaudited}`, [call.name]);
      return;
    }
    const isErasure =
      operation?.intent.kind === "eraseCustomer" || (operation?.intent.kind === "restored" && isErasing(located));
    if (operation !== undefined && isErasure) {
      this.#checkErasing(operation, located);
      return;
    }
    const left = operation && leftUndone(this.#model, operation, located);
    if (left !== undefined) {
      this.#violate("what is done to a webhook is done to its deliveries", `${call.name}: ${left}`, [call.name]);
    }
    for (const written of located) {
      const about = `${call.name} at ${home}`;
      if (operation === undefined) {
        this.#violate("only operators write through the admin API", `${about}: ${JSON.stringify(written)}`, [
          call.name,
        ]);
        return;
      }
      if (written.table === "audit_log") {
        const isExport = operation.intent.kind === "exportCustomer" || operation.intent.kind === "exportSite";
        if (isExport) operation.changes.push(written);
        continue;
      }
      if (this.#newer.get(operation)?.has(written.before?.version)) {
        const rule = "the end of an overlap never ends the overlap of a newer rotation";
        this.#violate(rule, `${about}: ${JSON.stringify(written)}`, [call.name]);
        return;
      }
      const wrong = wrongWrite(this.#model, operation, written);
      if (wrong !== undefined) {
        this.#violate(WRITES[operation.intent.kind], `${about}: ${wrong}: ${JSON.stringify(written)}`, [call.name]);
        return;
      }
      const undone = this.#lateTries.undone(operation, written);
      if (undone !== undefined) {
        const rule = "a late try changes nothing once another change was made";
        this.#violate(rule, `${about}: ${undone}: ${JSON.stringify(written)}`, [call.name]);
        return;
      }
      operation.changes.push(written);
      if (operation.intent.kind === "changeSite" && written.table === "home_sites") {
        this.#model.changedSinceRestore.add(`${home}/${operation.intent.siteId}`);
      }
      this.#touch(operation, written);
    }
  }

  #checkErasing(operation: Operation, changes: Written[]): void {
    const { call } = operation;
    const wrong = wrongErasing(this.#model, operation, changes);
    if (wrong !== undefined) this.#violate(WRITES.eraseCustomer, `${call.name}: ${wrong}`, [call.name]);
    noteErasing(this.#model, operation, changes);
    operation.changes.push(...changes.filter(({ table }) => table !== "audit_log"));
  }

  /** A call that asks for an appid and a call that releases it may disturb each other. */
  #touch(by: Operation, { table, after, before }: Change): void {
    if (table !== "app_routes" && table !== "apps") return;
    const appid = after?.appid ?? before?.appid;
    for (const other of this.#open) {
      if (other !== by && other.intent.kind === "revoke" && other.intent.appid === appid) other.possible.add("409");
    }
  }

  checkAnswer(call: Call): void {
    const operation = this.#operations.get(call);
    const { answer } = call;
    const isRefused = this.door.checkAnswer(call);
    if (call.role === "attacker") this.#checkIntruder(call);
    if (operation === undefined || answer === undefined) return;
    this.#open.delete(operation);
    this.#lateTries.answered(call);
    const { intent } = operation;
    if (isRefused) {
      this.#reads.ends(call);
      const { changes } = operation;
      const what = `${call.name} was answered ${answer.status} and changed ${JSON.stringify(changes)}`;
      // A try whose answer was lost may have been before the end of the site, or before the app lost its route.
      const siteId =
        "siteId" in intent ? intent.siteId : "appid" in intent && this.#model.routes.get(intent.appid ?? "");
      const isGone = siteId === undefined || hasEnded(this.#model.directory.get(Number(siteId)));
      if (changes.length > 0 && !(answer.status === 404 && isGone)) {
        this.#violate("who is refused at the door changes nothing", what, [call.name]);
      }
    } else if (intent.kind === "read") this.#reads.check({ ...operation, intent }, this.door.reader(call));
    else this.#checkDone(operation);
    this.#checkSecrets(operation);
  }

  #checkIntruder(call: Call): void {
    const { name, answer, wire, trips } = call;
    const isRefused = answer?.status === 401 || answer?.status === 429;
    const isUnanswered = answer?.status === 503 && call.faults.length > 0;
    // The row that counts refused tokens is written after the answer.
    const asked = trips.map(({ to }) => to).filter((to) => to !== "main run");
    const mayAsk = hasForm(bearerOf(call) ?? "") && asked.every((to) => to.startsWith("main "));
    if (mayAsk ? isRefused || isUnanswered : isRefused && asked.length === 0) return;
    const what = `${name} ${wire.method} ${wire.path} was answered ${answer?.status} and asked ${asked}`;
    this.#violate("the admin API refuses a call without its token", what, [name]);
  }

  #look(operation: Operation): void {
    const { intent } = operation;
    if (intent.kind === "read") {
      this.#reads.look({ ...operation, intent }, this.door.reader(operation.call));
      return;
    }
    operation.possible.add(String(statusNow(this.#model, operation)));
    if (intent.kind === "redeliverMany") this.#noteFitting({ ...operation, intent });
    if (intent.kind === "exportCustomer") {
      const now = sorted(exportNow(this.#model, intent));
      if (operation.exported.at(-1) !== now) operation.exported.push(now);
    }
    if (intent.kind === "exportSite") {
      const now = siteExportNow(this.#model, intent);
      if (operation.exported.at(-1) !== now) operation.exported.push(now);
    }
    const row = rowOf(this.#model, intent);
    if (row !== undefined && row !== operation.rows.at(-1)) operation.rows.push(row);
    // A rotation may come between the reading of the version and the end of its overlap.
    const isRotated = operation.rows.some(({ version }) => version !== row?.version);
    if (ENDS.includes(intent.kind) && isRotated) operation.possible.add("409");
  }

  #noteFitting({ call, intent, fitting }: OperationOf<"redeliverMany">): void {
    const home = this.#model.homes.get(this.#model.directory.get(intent.siteId)?.home ?? "");
    const now = home === undefined ? [] : fittingNow(home, intent, call);
    if (fitting.at(-1)?.join() !== now.join()) fitting.push(now);
  }

  #checkDone(operation: Operation): void {
    const { call, intent, possible, changes, disturbed } = operation;
    const { status = 0, body = "" } = call.answer ?? {};
    const said = `${call.name} ${call.wire.method} ${call.wire.path} ${call.wire.body} was answered ${status} ${body}`;
    const about = [call.name];
    const hadFaults = call.faults.length > 0 || disturbed;
    // KV keeps floors that a restore of D1 undoes, and KV may be silent.
    const isOfCustomer = intent.kind === "eraseCustomer" || intent.kind === "exportCustomer";
    const isKeptInKv =
      isOfCustomer ||
      intent.kind === "deleteSite" ||
      intent.kind === "restored" ||
      (intent.kind === "changeSite" && intent.firstChatId !== undefined);
    const needsKv = isKeptInKv && status === 503;
    if (!hadFaults && !needsKv && !possible.has(String(status))) {
      this.#violate("an operator's call is answered as documented", `${said}, expected ${[...possible]}`, about);
    }
    // The site or the app was there all the time.
    if (!disturbed && status === 404 && !possible.has("404")) {
      this.#violate(
        "what an operator may see is not hidden, whatever fails",
        `${said}, expected ${[...possible]}`,
        about,
      );
    }
    // A release changes the site's revision first, to end every issuing of the appid that has begun. It may still be
    // refused then.
    const isAllowed = ({ table }: Change) =>
      table === "app_routes" || (table === "home_sites" && intent.kind === "revoke");
    if (status >= 400 && status < 500 && !hadFaults && !changes.every(isAllowed)) {
      this.#violate("an operator's call that is refused changes nothing", said, about);
    }
    const rotated = changes.findLast(({ table }) => table === "apps")?.after;
    if (intent.kind === "rotate" && status === 409 && !disturbed && rotated != null) {
      const key = `${rotated.site_id}/${intent.appid}`;
      const isInForce = [...this.#model.homes.values()].some(({ apps }) => {
        const app = apps.get(key);
        return app !== undefined && app.version === rotated.version && !app.revoked;
      });
      // Without the answer, nobody would ever know the secret that is in force.
      if (isInForce) this.#violate("a rotation that was made is answered with its secret", said, about);
    }
    if (status === 202 && intent.kind === "deleteSite") this.#ends(intent.siteId);
    if (status >= 300 || disturbed) return;
    const wrong = wrongAnswer(this.#model, operation);
    if (wrong !== undefined) this.#violate("an operator is answered what is stored", `${said}: ${wrong}`, about);
    const app = changes.findLast(({ table }) => table === "apps")?.after;
    if (CHANGES_OF_APPS.includes(intent.kind) && app != null) this.records.expect(call, app);
    if (intent.kind === "createSite" && !hadFaults) {
      const { id } = JSON.parse(body) as { id: number };
      const made = changes.find(({ table, before, after }) => table === "sites" && before !== null && after?.id === id);
      if (made === undefined) this.#violate("each call makes its own site", said, about);
    }
  }

  /** A call was answered that a site ends. */
  #ends(siteId: number): void {
    const home = this.#model.directory.get(siteId)?.home;
    const end = this.#model.ends.get(`${home}/${siteId}`);
    if (end !== undefined) end.isTold = true;
  }

  #checkSecrets({ call, intent, changes }: Operation): void {
    const body = call.answer?.body ?? "";
    const own = GIVING.includes(intent.kind) ? changes : [];
    const given = own.map(({ after }) => this.#model.secrets.get(String(after?.version)));
    for (const secret of this.#model.secrets.values()) {
      if (!body.includes(secret) || given.includes(secret)) continue;
      this.#violate("an answer shows no secret but the one that it gives out", `${call.name}: ${body}`, [call.name]);
    }
  }
}
