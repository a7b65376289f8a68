import { type Model, usedName } from "../../checker/model.ts";
import type { Violate } from "../../checker/violate.ts";
import { WHOLE_LIMIT_MS } from "../../erasure/rules/periods.ts";
import type { Scheduler } from "../../machine/scheduler.ts";
import type { RowChange } from "../../platform/database.ts";
import type { StalledHomes } from "../../weather/stalled-homes.ts";
import type { Answer, Call } from "../../world/call.ts";
import { LIMITS } from "../../world/cloud/settings.ts";
import { formMismatch, ignoredIn, LIMITED, mismatch, NO_ANSWER } from "./answers.ts";
import { read } from "./contract.ts";
import { Costs } from "./costs.ts";
import { Excuses } from "./excuses.ts";
import { AppLimits, ClientLimit } from "./limits.ts";
import { Orders } from "./orders.ts";
import { checkWritten } from "./signed-writes.ts";
import { aboutOf, isWriting, type Verdict, verdictsOf, type WatchedCall } from "./verdicts.ts";

/** Checks the writes and the answers of signed calls against the contract's verdicts. */
export class SignedCalls {
  readonly costs: Costs;
  readonly excuses: Excuses;
  readonly #orders: Orders;
  readonly #model: Model;
  readonly #violate: Violate;
  readonly #scheduler: Scheduler;
  readonly #count: (what: string) => void;
  readonly #appLimits = new AppLimits();
  readonly #clientLimit = new ClientLimit();
  readonly #calls = new Map<Call, WatchedCall>();
  readonly #open = new Set<WatchedCall>();

  /** @param count counts the results of calls */
  constructor(
    model: Model,
    violate: Violate,
    scheduler: Scheduler,
    { count, stalledHomes }: { count: (what: string) => void; stalledHomes: StalledHomes },
  ) {
    this.#count = count;
    this.#model = model;
    this.#violate = violate;
    this.#scheduler = scheduler;
    this.costs = new Costs(violate);
    this.#orders = new Orders(model, violate);
    const rules = { costs: this.costs, appLimits: this.#appLimits, clientLimit: this.#clientLimit, stalledHomes };
    this.excuses = new Excuses(model, this.#calls, rules);
  }

  arrives(call: Call): void {
    const reading = read(call.wire);
    const watched: WatchedCall = { call, reading, signedBy: new Map(), possible: new Map(), commit: undefined };
    this.#calls.set(call, watched);
    this.#open.add(watched);
    this.#look(watched);
    this.#clientLimit.arrives(call, !this.#model.hasRouted(reading.appid));
    this.#scheduler.after(WHOLE_LIMIT_MS, () => {
      if (call.alive && call.answer === undefined) {
        this.#violate("every call is answered within 9.5 s", `${call.name} has no answer`, [call.name]);
      }
    });
  }

  /** Notes the verdicts that calls without an answer may get at this moment. */
  look(): void {
    for (const watched of this.#open) this.#look(watched);
  }

  /** The meaning of the call's Idempotency-Key; empty for a call that is not signed. */
  fingerprintOf(call: Call): string {
    return this.#calls.get(call)?.reading.fingerprint ?? "";
  }

  ends(call: Call): void {
    const watched = this.#calls.get(call);
    if (watched !== undefined) this.#open.delete(watched);
  }

  /** @param home the name of the home that has committed */
  checkWritten(home: string, call: Call, changes: readonly RowChange[]): void {
    const watched = this.#calls.get(call) as WatchedCall;
    const result = checkWritten(this.#model, this.#violate, home, watched, changes);
    if (result === undefined) return;
    const { app, verdict } = result;
    const { ranstr, operation } = watched.reading;
    const agents = changes.flatMap(({ table, after }) => (table === "participants" ? [after?.agent_id] : []));
    const sessionId = verdict.kind === "refused" ? undefined : verdict.sessionId;
    watched.commit = { verdict, agents, session: this.#model.home(home).sessions.get(`${app.siteId}/${sessionId}`) };
    this.#count(`${operation.wireName} ${verdict.kind}${verdict.kind === "refused" ? `: ${verdict.reason}` : ""}`);
    this.#model.usedRanstrs.set(usedName(app.appid, ranstr), call);
    const isNew = changes.some(({ table, before }) => table === "sessions" && before === null);
    if (verdict.kind === "accepted" && isNew) this.#orders.opens(home, app, call, verdict.sessionId, changes);
  }

  checkAnswer(call: Call): void {
    const watched = this.#calls.get(call) as WatchedCall;
    const answer = call.answer as Answer;
    this.#look(watched);
    this.#open.delete(watched);
    const { commit, possible } = watched;
    const candidates =
      commit === undefined ? [...possible.values()].filter((each) => !isWriting(each)) : [commit.verdict];
    const misses = candidates.map((verdict) => mismatch(call, answer, verdict));
    const verdict = candidates[misses.indexOf(undefined)];
    if (verdict === undefined && !this.excuses.isExcused(watched, answer)) {
      const expected = JSON.stringify(commit?.verdict ?? [...possible.values()]);
      const why = misses.find((each) => each !== undefined) ?? "";
      this.#violate(
        call.role === "honest"
          ? "an honest request is answered as the contract says"
          : "every request is answered as the contract says",
        `${call.name} was answered ${answer.status} ${answer.body} (${why}), came to ${expected}`,
        aboutOf(watched),
      );
      return;
    }
    this.#charge(watched, answer);
    if (verdict !== undefined) this.#checkIgnored(watched, answer, verdict);
  }

  #look(watched: WatchedCall): void {
    if (watched.commit !== undefined) return;
    for (const verdict of verdictsOf(this.#model, watched)) {
      const name = JSON.stringify(verdict);
      if (!watched.possible.has(name)) watched.possible.set(name, verdict);
    }
  }

  #checkIgnored(watched: WatchedCall, answer: Answer, verdict: Verdict): void {
    const { call } = watched;
    if (verdict.kind !== "accepted") return;
    const ignoredAgents = ignoredIn(answer);
    const report = (rule: string, what: string) => this.#violate(rule, `${call.name} ${what}`, aboutOf(watched));
    // After a lost answer, the second try may give other reasons for agents that were left out. But it must not name
    // agents that joined, and must name agents who were on the session before that second.
    if (call.faults.length > 0) {
      const { agents = [], session } = watched.commit ?? {};
      const names = (id: unknown) => ignoredAgents.some((each) => each.startsWith(`${id} `));
      const wasOn = (id: number) => (session?.participants.get(id)?.added_at ?? call.clock) !== call.clock;
      const joinedId = agents.find(names);
      const silent = verdict.ignored.map((each) => Number.parseInt(each, 10)).find((id) => wasOn(id) && !names(id));
      if (joinedId !== undefined) report("x-ignored-agents names no agent that joined", `says ${joinedId}`);
      else if (answer.status === 200 && silent !== undefined)
        report("x-ignored-agents names each agent who was on the session before", `leaves out ${silent}`);
      return;
    }
    if (JSON.stringify(ignoredAgents) === JSON.stringify(verdict.ignored.toSorted())) return;
    report("x-ignored-agents names the agents that were left out", `says ${ignoredAgents}, not ${verdict.ignored}`);
  }

  /** Counts an answered call for the limits and checks its cost. */
  #charge(watched: WatchedCall, answer: Answer): void {
    const { call, commit, reading } = watched;
    const { appid, ranstr, timestamp } = reading;
    const isUnsigned = mismatch(call, answer, { kind: "unsigned" }) === undefined;
    const isLimited =
      formMismatch(call, answer, LIMITED) === undefined &&
      Number(answer.headers.get("retry-after")) === LIMITS.CLIENT_LIMIT.period;
    if (isUnsigned || isLimited) {
      this.excuses.noteUnsigned(watched);
      this.#clientLimit.fails(call, !this.#model.hasRouted(appid));
    } else this.#clientLimit.succeeds(call);
    if (commit === undefined || isUnsigned || formMismatch(call, answer, NO_ANSWER) === undefined) return;
    this.#appLimits.charge(call, { appid, siteId: this.#model.siteOf(appid), ranstr, timestamp });
    this.costs.done(call, appid);
  }
}
