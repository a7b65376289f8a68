import { SignedCalls } from "../callers/rules/signed-calls.ts";
import { Deliveries } from "../deliveries/rules/deliveries.ts";
import { GivenEvents } from "../deliveries/rules/given-events.ts";
import { Sweeps } from "../deliveries/rules/sweeps.ts";
import { findEndedSite, findErasedText } from "../erasure/rules/erased-texts.ts";
import { noteTaken } from "../erasure/rules/erasures.ts";
import { Pruning } from "../erasure/rules/pruning.ts";
import { Removals } from "../erasure/rules/removals.ts";
import { loweredFloor } from "../homes/rules/floors.ts";
import { EPOCH } from "../machine/program.ts";
import type { Scheduler } from "../machine/scheduler.ts";
import { Operators } from "../operators/rules/operators.ts";
import type { RowChange } from "../platform/database.ts";
import type { Violation } from "../run.ts";
import { Secrecy } from "../secrecy/secrecy.ts";
import { AfterAnswer } from "../weather/after-answer.ts";
import { StalledHomes } from "../weather/stalled-homes.ts";
import type { Call } from "../world/call.ts";
import type { Home } from "../world/cloud/home.ts";
import { JOURNAL } from "../world/cloud/queues.ts";
import type { CloudWitness } from "../world/cloud/witness.ts";
import { Model } from "./model.ts";

/** A signed call, as opposed to a call of the admin API or a run of the cron job. */
const isSigned = ({ role, wire }: Call): boolean =>
  role !== "cron" && role !== "queue" && !wire.path.startsWith("/admin");

/** A change for which only secrecy.ts has rules: a row of a refused call, or the audit row of a read. */
const isBeside = ({ table, after }: RowChange): boolean =>
  table === "refusals" || (table === "audit_log" && after?.action === "root.read");

/** A run of the consumer of refused calls, as opposed to one of events. */
const isOfJournal = ({ role, wire }: Call): boolean => role === "queue" && wire.path === JOURNAL.name;

/**
 * Checks everything that happens against the contract. It sees what is sent, stored and answered, and no code. It
 * passes an event to each part that has rules about it. The world calls the part itself where only one part has rules.
 * `CloudWitness` says when each method is called.
 */
export class Checker implements Pick<CloudWitness, "arrives" | "commits" | "answers" | "ends" | "isOver" | "fails"> {
  readonly model = new Model();
  readonly operators: Operators;
  readonly pruning: Pruning;
  readonly removals: Removals;
  readonly sweeps: Sweeps;
  readonly secrecy: Secrecy;
  readonly afterAnswer: AfterAnswer;
  readonly stalledHomes: StalledHomes;
  readonly deliveries: Deliveries;
  violation: Violation | undefined;
  /** Master keys that a newer deployment calls the previous ones. */
  readonly #oldKeys = new Set<string | undefined>();
  readonly #signedCalls: SignedCalls;
  readonly #givenEvents: GivenEvents;
  readonly #scheduler: Scheduler;

  /** @param count counts what happens, for the report */
  constructor(scheduler: Scheduler, count: (what: string) => void) {
    this.#scheduler = scheduler;
    const violate = this.violate.bind(this);
    this.operators = new Operators(this.model, violate);
    this.pruning = new Pruning(this.model, violate);
    this.removals = new Removals(this.model, violate, count);
    this.sweeps = new Sweeps(this.model, violate);
    this.secrecy = new Secrecy(violate, this.model.secrets);
    this.afterAnswer = new AfterAnswer(violate);
    this.stalledHomes = new StalledHomes(violate);
    this.#givenEvents = new GivenEvents(this.model, violate);
    this.deliveries = new Deliveries(this.model, violate);
    this.#signedCalls = new SignedCalls(this.model, violate, scheduler, { count, stalledHomes: this.stalledHomes });
  }

  violate(rule: string, what: string, about: string[]): void {
    this.violation ??= { rule, what, step: this.#scheduler.steps, about };
  }

  arrives(call: Call): void {
    this.#oldKeys.add(call.settings.masterKeyPrevious);
    if (isOfJournal(call)) return;
    if (call.role === "cron") this.deliveries.liveness.deployed(call.settings.closedHomes);
    if (call.role === "cron") this.removals.arrives(call);
    else if (call.role === "queue") this.deliveries.arrives(call, this.#now());
    else if (isSigned(call)) this.#signedCalls.arrives(call);
    else this.operators.arrives(call);
  }

  commits({ name: home, turn }: Home, call: Call | undefined, all: RowChange[]): void {
    const apply = (change: RowChange) => this.#apply(home, call, change, turn);
    this.secrecy.checkRows(call, all);
    const changes = all.filter((change) => !isBeside(change));
    if (changes.length > 0) this.#checkOthers(home, call, changes, apply);
    this.#look();
  }

  /** Checks the changes for which other parts have rules, and applies them to the model. */
  #checkOthers(home: string, call: Call | undefined, changes: RowChange[], apply: (change: RowChange) => void): void {
    if (call?.role === "queue") {
      this.deliveries.checkWritten(home, call, changes, apply, this.#now());
    } else if (call?.role === "cron" && this.removals.checkWritten(home, call, changes)) {
      changes.forEach(apply);
    } else if (call?.role === "cron") {
      const others = (change: RowChange) => this.pruning.checkWritten(home, call, [change], changes);
      this.sweeps.checkWritten(home, call, changes, apply, others);
    } else {
      if (call !== undefined && isSigned(call)) this.#signedCalls.checkWritten(home, call, changes);
      else if (call !== undefined) this.operators.checkWritten(home, call, changes);
      changes.forEach(apply);
    }
  }

  #apply(home: string, call: Call | undefined, change: RowChange, turn: number): void {
    const { table, before, after } = change;
    if (table === "home_sites" && before?.status === "closed" && after?.status === "open") {
      this.model.reopenedAt.set(`${home}/${after.site_id}`, this.#scheduler.now);
    }
    const what = loweredFloor(change);
    if (what !== undefined) this.violate("the floors of a site only rise", what, call === undefined ? [] : [call.name]);
    if (table === "sessions" && after === null && before !== null && call?.role !== "operator") {
      noteTaken(this.model, home, before);
    }
    this.model.apply(home, change, call === undefined ? "" : this.#signedCalls.fingerprintOf(call));
    this.operators.noteChanged(home, call, change, turn);
    this.operators.records.changes(change);
    if (table === "events") this.#givenEvents.changes(home, call, change);
    if (table === "webhooks") this.deliveries.webhookChanges(home, change);
    if (table === "deliveries") this.deliveries.liveness.changes(home, change, this.#now());
    // The cached credentials of an app are outdated when its route is deleted.
    const isUnrouted = table === "app_routes" && after === null;
    if (table === "apps" || isUnrouted) this.#signedCalls.costs.noteChange(String((after ?? before)?.appid));
    // Whether a site has events is part of its apps' records.
    if (table === "home_sites" && before?.events !== after?.events) {
      const ofSite = `${(after ?? before)?.site_id}/`;
      for (const key of this.model.home(home).apps.keys()) {
        if (key.startsWith(ofSite)) this.#signedCalls.costs.noteChange(key.slice(ofSite.length));
      }
    }
  }

  answers(call: Call): void {
    if (!isSigned(call)) {
      this.operators.checkAnswer(call);
      return;
    }
    this.secrecy.checkAnswer(call);
    this.#signedCalls.checkAnswer(call);
  }

  /** Checks at the end, after several runs of the cron job, that it has left no row that it must delete. */
  isPruned(underRestore: ReadonlySet<string>): void {
    this.removals.isPruned(underRestore);
    if (this.removals.last !== undefined) this.pruning.isPruned(this.removals.last, underRestore);
  }

  /**
   * Searches all rows at the end, also of unwatched tables, for erased customers, confidential texts and ended sites.
   */
  search(places: Parameters<typeof findErasedText>[1], underRestore: ReadonlySet<string>): void {
    const erasedText = findErasedText(this.model, places);
    if (erasedText !== undefined) this.violate("an erased customer is found nowhere", erasedText, []);
    for (const { database } of places.homes) {
      for (const table of database.tables()) {
        const rows = database.rows(table).map((after) => ({ table, before: null, after }));
        this.secrecy.checkRows(undefined, rows);
      }
    }
    const endedSite = findEndedSite(this.model, { homes: places.homes, except: underRestore });
    if (endedSite !== undefined) this.violate("a site that ended is found nowhere but in the audit log", endedSite, []);
  }

  /** Unix seconds by the platform's clock. */
  #now(): number {
    return Math.floor((EPOCH + this.#scheduler.now) / 1000);
  }

  ends(call: Call): void {
    this.afterAnswer.checkTrips(call);
    if (call.role === "queue") return;
    if (isSigned(call)) this.#signedCalls.ends(call);
    else this.operators.ends(call);
  }

  isOver(call: Call): void {
    this.afterAnswer.isOver(call, this.#scheduler.now);
    this.operators.records.isOver(call);
  }

  fails(call: Call, error: unknown): void {
    if ((call.role === "cron" || call.role === "queue") && call.faults.length > 0) return;
    // An isolate of the previous deployment cannot open what a newer deployment has sealed.
    if (this.#oldKeys.has(call.settings.masterKey) && /MASTER_KEY does not open/.test(String(error))) return;
    this.violate("nothing fails after the answer", `${call.name}: ${String(error)}`, [call.name]);
  }

  /** Takes the rows of a home that was restored to a snapshot. @param at Unix seconds */
  restored({ name: home, database }: Home, tables: readonly string[], at: number): void {
    this.model.forget(home, at);
    for (const table of tables) {
      for (const after of database.rows(table)) this.model.apply(home, { table, before: null, after }, "");
    }
    this.#signedCalls.costs.outdate();
    this.operators.disturb(home);
    this.deliveries.restored(home);
    this.#look();
  }

  /** Notes that an attacker has written an app's record into KV. */
  tampered(appid: string): void {
    this.#signedCalls.costs.outdate(appid);
    this.#signedCalls.excuses.noteTampered(appid);
  }

  /** Notes which answers the open calls may get, after a change of the state. */
  #look(): void {
    this.#signedCalls.look();
    this.operators.look();
  }
}
