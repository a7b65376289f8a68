/**
 * The parts of the platform that this client uses. `Signal` is the platform's own type when a project has the types of the DOM, of Node
 * or of Workers. The other types are described by their shape, so that a project without the platform's types compiles too.
 */

/** The type of `signal` in the platform's `fetch`. It is not read from `AbortSignal`, because `typeof globalThis` lacks that in Workers. */
export type Signal = typeof globalThis extends { fetch: (input: never, init?: infer Init) => unknown }
  ? NonNullable<Init> extends { signal?: infer Own }
    ? NonNullable<Own>
    : SignalShape
  : SignalShape;

/** The shape of an `AbortSignal`, also of a polyfill's or an older platform's. */
export interface SignalShape {
  readonly aborted: boolean;
  readonly reason?: unknown;
  addEventListener(type: "abort", listener: () => void, options?: { once?: boolean }): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** A type that the platform's own `fetch` has. */
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
