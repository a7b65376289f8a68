import type { Change, Row } from "../../platform/database.ts";
import type { Call } from "../../world/call.ts";
import { LIMITS } from "../../world/cloud/settings.ts";
import { mayBeDown } from "../admin/journal-reads.ts";
import { hasEnded, type Model } from "../model.ts";
import { areLimitsBound, clientKey } from "../signed/limits.ts";
import type { Violate } from "../violate.ts";
import { Memories } from "./memories.ts";
import { isNote, Notes } from "./notes.ts";
import { type Asked, askedOf, mayDo } from "./table.ts";
import { bearerOf, hashBy, isRoot, networkOf, type Reader, whoIs } from "./visitor.ts";

/** What the door may say to a call. A 403 has its reason. */
type Outcome = "in" | "401" | "403 token_of_one_site" | "403 role_too_low" | "404";

/** A call at the door, with everything that the door may have said since it arrived. */
export interface Visit {
  call: Call;
  asked: Asked;
  hash: string | undefined;
  outcomes: Set<Outcome>;
  /** Whether its token was good at some moment. */
  wasGood: boolean;
  /** Whether its isolate may have known the token when the call came. */
  mayBeKnown: boolean;
}

/** Failures before this many milliseconds explain no 429: a limit counts a minute, and isolates remember it for one. */
const LIMITED_MS = 130_000;

/** Who is let in, by the table: docs/operating.md, "Who may". What is of another site is not there; then the role counts. */
export class Door {
  readonly #model: Model;
  readonly #violate: Violate;
  readonly #memories = new Memories();
  readonly #notes: Notes;
  readonly #open = new Map<Call, Visit>();
  /** When calls of each client may have failed, in milliseconds of virtual time. */
  readonly #failures = new Map<string, number[]>();

  constructor(model: Model, violate: Violate) {
    this.#model = model;
    this.#violate = violate;
    this.#notes = new Notes(model, violate);
  }

  arrives(call: Call): void {
    const [asked, hash] = [askedOf(call.wire), hashBy(call)];
    const mayBeKnown = this.#memories.mayKnow(call, hash, this.#open.values());
    const visit = { call, asked, hash, outcomes: new Set<Outcome>(), wasGood: false, mayBeKnown };
    this.#open.set(call, visit);
    this.#look(visit);
  }

  /** Notes what the door may say to open calls at this moment. */
  look(): void {
    for (const visit of this.#open.values()) this.#look(visit);
  }

  ends(call: Call): void {
    const visit = this.#open.get(call);
    this.#open.delete(call);
    if (visit !== undefined) this.#memories.ends(visit);
  }

  /** Who reads: the one site that a call's token is of, undefined for all and for a token that nobody made; and whether it only looks. */
  reader(call: Call): Reader {
    const { site_id = null, role } = this.#model.tokensByHash.get(hashBy(call) ?? "") ?? {};
    return { onlySite: site_id === null ? undefined : Number(site_id), isViewer: role === "viewer" };
  }

  /**
   * Checks that a call may write, and in whose name it does.
   *
   * @returns whether these changes are a note of the door itself, which belongs to no change by an operator
   */
  checkWritten(home: string, call: Call, changes: readonly Change[]): boolean {
    if (isNote(changes)) {
      this.#notes.check(home, call, changes);
      return true;
    }
    const about = [call.name];
    const visit = this.#open.get(call);
    // A call that is answered may still write: its last try comes late.
    if (visit !== undefined && !this.#allowed(visit).has("in")) {
      const what = `${call.name} ${call.wire.method} ${call.wire.path}: ${JSON.stringify(changes)}`;
      this.#violate("nobody writes whom the door does not let in", what, about);
    }
    const who = { ...whoIs(call, this.#model.tokensByHash.get(hashBy(call) ?? "")), address: networkOf(call) };
    const rows = changes.flatMap(({ table, after }) => (table === "audit_log" && after !== null ? [after] : []));
    const strange = rows.find((row) => Object.entries(who).some(([column, value]) => row[column] !== value));
    if (strange !== undefined) {
      const what = `${call.name}: ${JSON.stringify(strange)}, expected ${JSON.stringify(who)}`;
      this.#violate("the audit log says who has made a change", what, about);
    }
    return false;
  }

  /** Checks what is written without an operator: by a caller, by the cron job or by a queue. */
  checkOthers({ name }: Call, changes: readonly Change[]): void {
    const rows = changes.filter(({ table, before }) => table === "audit_log" && before === null);
    const strange = rows.find(({ after }) => after?.who_kind !== null || after.address !== null);
    if (strange !== undefined) {
      const what = `${name}: ${JSON.stringify(strange.after)}`;
      this.#violate("the Worker's own work is done in nobody's name", what, [name]);
    }
  }

  /** Checks an answer against the table. @returns whether the door has refused the call */
  checkAnswer(call: Call): boolean {
    const visit = this.#open.get(call);
    if (visit === undefined) return false;
    const { status = 0, body = "" } = call.answer ?? {};
    const allowed = this.#allowed(visit);
    this.ends(call);
    const said = status === 403 ? `403 ${(JSON.parse(body) as { reason?: string }).reason}` : String(status);
    const isRefused = [401, 403, 429].includes(status) || (status === 404 && allowed.has("404"));
    const what = `${call.name} ${call.wire.method} ${call.wire.path} was answered ${status} ${body}, expected ${[...allowed]}`;
    const about = [call.name, `"id":"${this.#model.tokensByHash.get(visit.hash ?? "")?.id}"`];
    if (status === 429) {
      if (!this.#isLimited(call)) this.#violate("only who fails too often is told to wait", what, about);
      return true;
    }
    if (isRefused) {
      if (!allowed.has(said as Outcome)) this.#violate("nobody is refused whom the table lets in", what, about);
      return true;
    }
    const isUnanswered = status === 503 && call.faults.length > 0;
    if (isUnanswered || allowed.has("in")) return false;
    this.#violate("nobody is let in whom the table leaves out", what, about);
    return true;
  }

  /** What the door may have said until now, by the directory or by what the isolate remembers. */
  #allowed(visit: Visit): Set<Outcome> {
    const { call, outcomes, hash, asked, mayBeKnown } = visit;
    const token = this.#model.tokensByHash.get(hash ?? "");
    if (token === undefined || !mayBeKnown || !mayBeDown(call, "main") || hasExpired(token, call)) return outcomes;
    return new Set([...outcomes, this.#judge(asked, token)]);
  }

  #look(visit: Visit): void {
    const { call, hash, asked, outcomes } = visit;
    const token = this.#model.tokensByHash.get(hash ?? "");
    const stored = this.#model.tokens.get(String(token?.id));
    const isGood = stored !== undefined && stored.deleted_at === null && !hasExpired(stored, call);
    visit.wasGood ||= isGood;
    if (isRoot(call) || isGood) outcomes.add(this.#judge(asked, isGood ? stored : undefined));
    else if (!outcomes.has("401")) {
      outcomes.add("401");
      this.#failures.set(clientKey(call), [...(this.#failures.get(clientKey(call)) ?? []), call.clockMs]);
      if (bearerOf(call) !== undefined) this.#notes.mayRefuse(call);
    }
  }

  /** @param token undefined for the root */
  #judge({ role, about, first, query, endedToo }: Asked, token: Row | undefined): Outcome {
    const { directory, routes } = this.#model;
    const site = token?.site_id ?? undefined;
    const listed = directory.get(Number(first));
    const isThere = listed !== undefined && (endedToo || !hasEnded(listed));
    if (about === "site" && (!isThere || (site !== undefined && site !== Number(first)))) return "404";
    if (site !== undefined) {
      if (about === "app" && (routes.get(first) !== site || hasEnded(directory.get(Number(site))))) return "404";
      if (about === "deployment") return "403 token_of_one_site";
      if (about === "sites" && (query.get("site_id") ?? String(site)) !== String(site)) return "404";
    }
    return token === undefined || mayDo(token.role, role) ? "in" : "403 role_too_low";
  }

  /** Whether failures at its address explain that a call was told to wait. */
  #isLimited(call: Call): boolean {
    if (isRoot(call) || !areLimitsBound(call)) return false;
    const failures = this.#failures.get(clientKey(call)) ?? [];
    return failures.filter((at) => at > call.clockMs - LIMITED_MS).length > LIMITS.CLIENT_LIMIT.limit;
  }
}

const hasExpired = ({ expires_at }: Row, { clock }: Call): boolean => expires_at != null && Number(expires_at) <= clock;
