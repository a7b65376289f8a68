import { notSimulated } from "../../not-simulated.ts";
import type { Call } from "../../world/call.ts";

/** Why the Worker will never get an answer. */
export const MISSES = ["no connection", "aborted", "ended"] as const;

/**
 * One request of the Worker to a receiver, as it goes over the wire, and its result. Times are milliseconds of virtual
 * time.
 */
export class Post {
  readonly name: string;
  readonly url: string;
  readonly method: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly call: Call;
  readonly sentAt: number;
  /** The receiver's mood for it: "well", "error", "hangs", … */
  mood: string | undefined;
  /** When the Worker got the status and the headers of the answer. */
  heardAt: number | undefined;
  /** The status of the receiver's answer, even if the answer never arrives. */
  status: number | undefined;
  miss: (typeof MISSES)[number] | undefined;

  constructor(name: string, url: string, init: PostInit, call: Call, sentAt: number) {
    this.name = name;
    this.url = url;
    this.method = init.method ?? "GET";
    this.headers = Object.fromEntries(new Headers(init.headers as HeadersInit));
    if (init.body != null && typeof init.body !== "string") throw notSimulated("a body that is not text");
    this.body = init.body ?? "";
    this.call = call;
    this.sentAt = sentAt;
  }

  get isOpen(): boolean {
    return this.heardAt === undefined && this.miss === undefined;
  }
}

export interface PostInit {
  method?: string;
  headers?: unknown;
  body?: unknown;
  signal?: AbortSignal | null;
}
