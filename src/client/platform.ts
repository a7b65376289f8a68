/**
 * What this client uses of its platform. Signals are the platform's own type where a project knows it, from the DOM's types, Node's
 * or a Worker's; the rest is described by its shape, so that the types compile where none of them is there.
 */

/** As the platform's `fetch` takes it: Workers declare `AbortSignal` in a way that `typeof globalThis` does not show. */
export type Signal = typeof globalThis extends { fetch: (input: never, init?: infer Init) => unknown }
  ? NonNullable<Init> extends { signal?: infer Own }
    ? NonNullable<Own>
    : SignalShape
  : SignalShape;

export interface SignalShape {
  readonly aborted: boolean;
  readonly reason: unknown;
  throwIfAborted(): void;
  addEventListener(type: "abort", listener: () => void, options?: { once?: boolean }): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** The platform's `fetch` is one. */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchedAnswer>;

export interface FetchInit {
  method: "POST";
  headers: Record<string, string>;
  body: string;
  redirect: "manual";
  signal: Signal;
}

export interface FetchedAnswer {
  readonly status: number;
  readonly headers: AnswerHeaders;
  readonly body: AnswerBody | null;
}

export interface AnswerHeaders {
  get(name: string): string | null;
  has(name: string): boolean;
}

export interface AnswerBody {
  getReader(): {
    read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
    cancel(): Promise<void>;
  };
}
