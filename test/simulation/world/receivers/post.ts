import type { Call } from "../call.ts";

/** Why the Worker may never get an answer. */
export const MISSES = ["no connection", "aborted", "ended"] as const;

/** One request of the Worker to somebody else, as it goes over the wire, and what came of it. Times are milliseconds of virtual time. */
export class Post {
  readonly name: string;
  readonly url: string;
  readonly method: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Whose work posts. */
  readonly call: Call;
  /** What the Worker asks for when it is answered with another URL. */
  readonly redirect: string;
  readonly sentAt: number;
  /** Whether one of the secrets that the receiver had then verifies it. */
  verified: boolean | undefined;
  /** What the receiver did with it, as a word: "well", "error", "hangs", … */
  mood: string | undefined;
  /** When the Worker got status and headers. Only from then on it may know of a success. */
  heardAt: number | undefined;
  /** What the receiver answers, whether it is ever heard or not. */
  status: number | undefined;
  retryAfter: string | undefined;
  /** Why the Worker never gets an answer. */
  missed: (typeof MISSES)[number] | undefined;

  constructor(name: string, url: string, init: PostInit, call: Call, sentAt: number) {
    this.name = name;
    this.url = url;
    this.method = init.method ?? "GET";
    this.headers = Object.fromEntries(new Headers(init.headers as HeadersInit));
    if (init.body != null && typeof init.body !== "string") throw new Error("not simulated: a body that is not text");
    this.body = init.body ?? "";
    this.redirect = init.redirect ?? "follow";
    this.call = call;
    this.sentAt = sentAt;
  }

  get isOpen(): boolean {
    return this.heardAt === undefined && this.missed === undefined;
  }
}

/** What the Worker's fetch may be given. */
export interface PostInit {
  method?: string;
  headers?: unknown;
  body?: unknown;
  redirect?: string;
  signal?: AbortSignal | null;
}
