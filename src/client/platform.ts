/**
 * The parts of the platform that this client uses. `Signal` is the platform's own type when a project has the types of the DOM, of Node
 * or of Workers. All others are described by their shape, so that a project without these types compiles too.
 */

/** The type of `signal` in the platform's `fetch`. `AbortSignal` does not do: `typeof globalThis` does not have it in Workers. */
export type Signal = typeof globalThis extends { fetch: (input: never, init?: infer Init) => unknown }
  ? NonNullable<Init> extends { signal?: infer Own }
    ? NonNullable<Own>
    : SignalShape
  : SignalShape;

/** An `AbortSignal`, also one of a polyfill or of an older platform. */
export interface SignalShape {
  readonly aborted: boolean;
  readonly reason?: unknown;
  addEventListener(type: "abort", listener: () => void, options?: { once?: boolean }): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** A type that the platform's `fetch` fits. */
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
