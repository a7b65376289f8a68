import type { Runtime } from "../runtime.ts";
import type { Credentials } from "./open-secrets.ts";
import type { FoundApp } from "./question.ts";
import { remember } from "./remember.ts";

const CACHED_MS = 300_000;

/** The credentials that this isolate has read. A stale entry is harmless, because each batch checks the app in its home. */
export class IsolateCache {
  readonly #runtime: Runtime;
  readonly #entries = new Map<string, { credentials: Credentials; until: number }>();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  freshRecord(appid: string): FoundApp | undefined {
    const entry = this.#entries.get(appid);
    return entry !== undefined && entry.until > this.#runtime.now() ? this.anyRecord(appid) : undefined;
  }

  /** The entry, even after it has expired. */
  anyRecord(appid: string): FoundApp | undefined {
    const entry = this.#entries.get(appid);
    return entry && { credentials: entry.credentials, source: "isolate" };
  }

  keep(credentials: Credentials): Credentials {
    remember(this.#entries, credentials.appid, { credentials, until: this.#runtime.now() + CACHED_MS });
    return credentials;
  }

  drop(appid: string): void {
    this.#entries.delete(appid);
  }
}
