import type { App, HomeModel } from "../../checker/home-model.ts";
import type { Chance } from "../../machine/chance.ts";
import type { Row } from "../../platform/database.ts";
import type { KnownSite } from "../../world/company.ts";

/** Fields of a body, by their names on the wire. */
export type Fields = Record<string, unknown>;

/** A caller and its knowledge, from which it makes the fields of a call. */
export interface RequestSender {
  chance: Chance;
  site: KnownSite;
  /** Sessions of other sites, which the caller must not reach. */
  foreignChatIds: number[];
  /** Returns a new text each time. A session's first message begins with it, so that each order is recognized. */
  nextOrder(): string;
}

/** A rule that refuses a call because of the stored state. */
export interface Refusal {
  status: number;
  msg: string;
  /** Fields that break the rule; undefined while the caller knows no such session. */
  ask(asker: RequestSender): Fields | undefined;
  /** SQL for one site and one session, after which the rule refuses the session: for states that no call makes. */
  byHand?: string;
}

/** A row that must be written, with the columns that the contract defines, and the expected JSON of `data`. */
export interface ExpectedRow {
  table: string;
  after: Row;
  json?: object;
}

export type WrittenRow = Pick<ExpectedRow, "table" | "after">;

interface AcceptedCall {
  sessionId: number;
  /** Requested agents that are left out, each with its reason: "777 unknown". */
  ignored?: string[];
}

/** The home in which a call is decided and written, and the time. */
interface RequestMoment {
  home: HomeModel;
  app: App;
  /** The isolate's clock, in Unix seconds. */
  clock: number;
}

/**
 * One signed operation as the simulation knows it: how callers call it, which results are possible, and which rows and
 * which event it leaves. It follows the contract and docs/contract.md, not the code. Its file is named like the
 * operation's in src/core/operations/.
 */
export interface OperationModel<Asked extends object = object> {
  /** The name under which Idempotency-Keys are stored. */
  name: string;
  /** The last part of its path. */
  wireName: string;
  /** Fields of a call that may be accepted. `appid`, `timestamp` and `ranstr` are added later. */
  ask(asker: RequestSender): Fields;
  /**
   * The meaning of a body. Bodies with the same meaning are the same request under one Idempotency-Key:
   * docs/retrying.md, "When two requests mean the same". Bodies of a wrong form are never sent here.
   */
  read(fields: Fields): Asked;
  /** In the order in which the rules are checked. */
  refusals: Record<string, Refusal>;
  /** The result of a call by the stored state: the name of a refusal, or the effect. */
  decide(moment: Omit<RequestMoment, "clock">, input: Asked): string | AcceptedCall;
  /** The rows of an accepted call, without its ranstr, its key and its event. */
  rows(moment: RequestMoment, input: Asked, call: AcceptedCall): ExpectedRow[];
  /** The event of an accepted call. `data` lacks `seq` and `appid`; `rows` are those that the call has stored. */
  event: { type: string; data(moment: RequestMoment, input: Asked, rows: WrittenRow[]): object };
  /** `data` of the answer. */
  answer(sessionId: number): unknown;
  /** Tells the caller what the answer of an accepted call contains. */
  learn?(site: KnownSite, data: unknown, fields: Fields): void;
}

/** The agents of a list of ids, without duplicates, in ascending order. */
export const agentsIn = (list: unknown): number[] =>
  [...new Set((list as unknown[]).map(Number))].sort((a, b) => a - b);

/** Notes for the caller that an operation refuses a session from now on. */
export const noteRefused = ({ refusedSessions }: KnownSite, refusal: string, chatId: number): void =>
  void refusedSessions.set(refusal, [...(refusedSessions.get(refusal) ?? []), chatId]);
