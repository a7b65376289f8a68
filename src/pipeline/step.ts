/**
 * The steps of a signed request. Each is a function from data to a result, and its `kind` says what it does beside that: `pure` looks
 * at nothing but its arguments, `reads` asks memory, KV or D1, `writes` also changes something, be it what the isolate remembers.
 *
 * Two functions fold them: run-request.ts stops at the first refusal and acts; check-request.ts runs the pure and the reading steps,
 * and collects what each says.
 */
export type Kind = "pure" | "reads" | "writes";

export type Step<K extends Kind, Arguments extends unknown[], Output> = ((...given: Arguments) => Output) & {
  readonly kind: K;
};
