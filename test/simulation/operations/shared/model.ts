import type { App, HomeModel } from "../../checker/home-model.ts";
import type { Chance } from "../../machine/chance.ts";
import type { Change, Row } from "../../platform/database.ts";
import type { KnownSite } from "../../world/people/company.ts";

/** Fields in the names of the wire. */
export type Fields = Record<string, unknown>;

/** Who calls, and what he knows. */
export interface Asker {
  chance: Chance;
  site: KnownSite;
  /** Sessions of other sites, which are nothing to him. */
  foreignChatIds: number[];
  /** Another text each time. A session's first message begins with it, so that one order is known from the other. */
  nextOrder(): string;
}

/** A rule that refuses a call by what is stored. */
export interface Refusal {
  status: number;
  msg: string;
  /** What `x-error-detail` says. */
  detail: RegExp;
  /** Fields that the rule refuses; undefined while nobody knows how to break it. */
  ask(asker: Asker): Fields | undefined;
  /** What only a hand at the database can make of a session, so that the rule refuses it: SQL for one site and one session. */
  byHand?: string;
}

/** A row that has to be written, with the columns that the contract tells, and what the JSON of `data` has to say. */
export interface ExpectedRow {
  table: string;
  after: Row;
  json?: object;
}

/** What an accepted call does. */
interface Accepted {
  sessionId: number;
  /** Agents who were asked for and are left out, each with why: "777 unknown". */
  ignored?: string[];
}

/** At one home, when a call is decided and written. */
interface Moment {
  home: HomeModel;
  app: App;
  /** The isolate's clock, in Unix seconds. */
  clock: number;
}

/**
 * One signed operation as the simulation knows it: what callers ask, what may come of it, and which rows and which event it leaves. It is
 * read from the contract and docs/contract.md, and not from the code. Its file is named like the operation's in src/operations/.
 */
export interface OperationModel<Asked extends object = object> {
  /** What Idempotency-Keys are stored for. */
  name: string;
  /** The end of its path. */
  wireName: string;
  /** Fields of a call that may be accepted. `appid`, `timestamp` and `ranstr` are added. */
  ask(asker: Asker): Fields;
  /** Each replaces fields of a call that may be accepted, and breaks one rule of its form. */
  malformed: readonly Fields[];
  /** Each is at the edge of a rule, and right in form. */
  extreme: readonly Fields[];
  /**
   * What a body says. Two that say the same are the same under one Idempotency-Key: docs/retrying.md, "What means the same".
   *
   * @param numbers the numbers of the body as they were written, by the name of the field
   * @returns undefined when the form is wrong
   */
  read(fields: Fields, numbers: ReadonlyMap<string, string>): Asked | undefined;
  /** In the order in which they are looked at. */
  refusals: Record<string, Refusal>;
  /** What a call comes to by what is stored: the name of a refusal, or what it does. */
  decide(moment: Omit<Moment, "clock">, asked: Asked): string | Accepted;
  /** The rows of an accepted call, beside its ranstr, its key and its event. */
  rows(moment: Moment, asked: Asked, accepted: Accepted): ExpectedRow[];
  /** What webhooks are told of an accepted call. `data` is without `seq` and `appid`; `written` is what `rows` gave. */
  event: { type: string; data(moment: Moment, asked: Asked, written: ExpectedRow[]): object };
  /** `data` of the answer. */
  answer(sessionId: number): unknown;
  /** What its caller learns from the answer to a call that was accepted. */
  learn?(site: KnownSite, data: unknown, fields: Fields): void;
}

/** Notes that a refusal of some operation meets a session from now on. */
export const noteRefused = ({ refusedSessions }: KnownSite, refusal: string, chatId: number): void =>
  void refusedSessions.set(refusal, [...(refusedSessions.get(refusal) ?? []), chatId]);

/** Whether a transaction has made a session, and its first message. */
export const openedBy = (changes: readonly Change[]): { content: string } | undefined => {
  const isNew = changes.some(({ table, before }) => table === "sessions" && before === null);
  const message = changes.find(({ table, before }) => table === "messages" && before === null)?.after;
  return isNew ? { content: String(message?.content ?? "") } : undefined;
};
