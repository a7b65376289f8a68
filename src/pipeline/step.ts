/**
 * The steps of a signed request. Each is a function from data to a result, and its `kind` says what it does beside that: `pure` looks
 * at nothing but its arguments, `reads` asks memory, KV or D1, `writes` also changes something, be it what the isolate remembers.
 *
 * Two functions run the steps: run-request.ts runs them all and stops at the first refusal; check-request.ts runs the pure and the
 * reading ones and collects every result.
 */
export type Kind = "pure" | "reads" | "writes";

export type Step<K extends Kind, Arguments extends unknown[], Output> = ((...given: Arguments) => Output) & {
  readonly kind: K;
};
