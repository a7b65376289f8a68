import type { Task } from "../machine/scheduler.ts";
import type { Isolate } from "./cloud/isolate.ts";
import type { Settings } from "./cloud/settings.ts";

/**
 * The senders of calls. Honest callers and operators follow the documentation, an attacker sends captured or made-up
 * requests, and cron and queue are the platform.
 */
export const ROLES = ["honest", "attacker", "operator", "cron", "queue"] as const;

export type Role = (typeof ROLES)[number];

/** An HTTP request as it goes over the wire. */
export interface WireRequest {
  method: string;
  path: string;
  /** Lower-case names. */
  headers: Record<string, string>;
  body: string;
}

export interface Answer {
  status: number;
  headers: Headers;
  body: string;
}

/** A call of a binding or over the network: "main batch", "NONCES get", "APP_LIMIT limit", "fetch". */
export interface Trip {
  to: string;
  /** Milliseconds of virtual time when it began. */
  at: number;
  /** True until it is answered or fails. */
  isOpen: boolean;
}

/** One invocation of the Worker: an HTTP request, a run of a cron trigger, or a batch of the queue. */
export class Call implements Task {
  readonly name: string;
  readonly role: Role;
  readonly wire: WireRequest;
  /** The location where it enters the platform. */
  readonly edge: string;
  alive = true;
  /**
   * True when the call is answered and all registered work has ended. From then on the platform drops all other work.
   */
  isOver = false;
  isolate: Isolate | undefined;
  /** Milliseconds of virtual time; undefined until then. */
  arrivedAt: number | undefined;
  answeredAt: number | undefined;
  answer: Answer | undefined;
  /** The isolate's clock when it arrived, in Unix seconds. */
  clock = 0;
  /** The platform's faults during the call, in order. Without faults, only the contract may refuse the call. */
  readonly faults: string[] = [];
  /** Its calls of D1, KV, the queues and the network, in order. */
  readonly trips: Trip[] = [];
  /** Its calls of limits, in order. They do not leave the location. */
  readonly counts: Trip[] = [];
  /** Whether a limit was asked and did not count. */
  limiterFailed = false;
  /** Each of its queries to D1 waits for this function, if there is one. */
  gate: ((call: Call, to: string) => Promise<void>) | undefined;
  /** Whether D1's answer to the transaction that runs now is lost in silence. */
  losesAnswer = false;
  /** The trips to D1 that are held back, such as "main batch", and for how long. So other calls come first. */
  hold: { to: string; milliseconds: number } | undefined;
  /** The newest turn of each home that an answer to this call has shown. */
  readonly knows = new Map<string, number>();
  /** Its transaction that runs now, with the newest turn of the home that it knew when it sent the transaction. */
  doing: { knows: number } | undefined;
  /** How many promises of its `waitUntil` are pending. */
  leftOverCount = 0;

  constructor(name: string, role: Role, wire: WireRequest, edge: string) {
    this.name = name;
    this.role = role;
    this.wire = wire;
    this.edge = edge;
  }

  /** Whether the call was cut off or its isolate died before the call was over. */
  get wasEnded(): boolean {
    return !this.alive && !this.isOver;
  }

  get settings(): Settings {
    if (this.isolate === undefined) throw new Error(`${this.name} has not reached an isolate`);
    return this.isolate.settings;
  }

  get client(): string {
    return this.wire.headers["cf-connecting-ip"] ?? "unknown";
  }
}
