import type { Task } from "../machine/scheduler.ts";
import type { Isolate } from "./cloud/isolate.ts";
import type { Settings } from "./cloud/settings.ts";

/**
 * Who sends: honest callers and operators follow the documentation, an attacker sends what he has captured or made up, a monitor asks
 * whether the service is well, cron and queue are the platform.
 */
export const ROLES = ["honest", "attacker", "operator", "monitor", "cron", "queue"] as const;

export type Role = (typeof ROLES)[number];

/** An HTTP request as it goes over the wire. */
export interface Wire {
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

/** A call of a binding, or of the network: "main batch", "NONCES get", "APP_LIMIT limit", "fetch". */
export interface Trip {
  to: string;
  /** Milliseconds of virtual time when it began. */
  at: number;
  /** Nothing has come of it yet. */
  isOpen: boolean;
  /** When it was answered with an error that no other try mends. */
  refusedAt?: number;
}

/** One call of the Worker: an HTTP request, a run of a cron trigger, or a batch of the queue. */
export class Call implements Task {
  readonly name: string;
  readonly role: Role;
  readonly wire: Wire;
  /** The location where it enters the platform. */
  readonly edge: string;
  alive = true;
  /** It is answered, and nothing that it has registered is under way: the platform drops the rest. */
  isOver = false;
  isolate: Isolate | undefined;
  /** Milliseconds of virtual time; undefined before. */
  arrivedAt: number | undefined;
  answeredAt: number | undefined;
  answer: Answer | undefined;
  /** The isolate's clock when it arrived, in Unix seconds. */
  clock = 0;
  /** What the platform did to it, in the order of the trace. Without any, only the contract may refuse the call. */
  readonly faults: string[] = [];
  /** What it asked of D1, KV, the queue and the network, in order. */
  readonly trips: Trip[] = [];
  /** The limits that it asked, in order: without leaving its location. */
  readonly counts: Trip[] = [];
  /** A limit was asked and did not count. */
  limiterFailed = false;
  /** What it waited for D1 in all, in milliseconds. */
  d1Ms = 0;
  /** How much of what it left to waitUntil is under way. */
  leftOver = 0;

  constructor(name: string, role: Role, wire: Wire, edge: string) {
    this.name = name;
    this.role = role;
    this.wire = wire;
    this.edge = edge;
  }

  /** It was cut off, or its isolate died. Whoever is over has done all that it had to do. */
  get wasEnded(): boolean {
    return !this.alive && !this.isOver;
  }

  /** What the isolate that serves it was deployed with. */
  get settings(): Settings {
    if (this.isolate === undefined) throw new Error(`${this.name} has not reached an isolate`);
    return this.isolate.settings;
  }

  /** The address that it comes from. */
  get client(): string {
    return this.wire.headers["cf-connecting-ip"] ?? "unknown";
  }
}
