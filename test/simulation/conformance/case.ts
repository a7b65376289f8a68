/**
 * A case calls a platform and returns all that is visible of the answer. Its name is a rule. It must not throw, because
 * two platforms could throw for different reasons: {@link errorOf} catches an expected error.
 */
export type Cases<Platform> = Record<string, (platform: Platform) => unknown>;

/** The result of a case in JSON: see {@link plain}. */
export type Outcome = { gave: unknown } | { threw: string };

/** Runs one case after another, each on its own platform. `platformOf` gets the case's index in the list. */
export async function outcomesOf<Platform>(
  cases: Cases<Platform>,
  platformOf: (place: number) => Platform | Promise<Platform>,
): Promise<Record<string, Outcome>> {
  const outcomes: Record<string, Outcome> = {};
  for (const [place, [name, run]] of Object.entries(cases).entries()) {
    try {
      outcomes[name] = { gave: plain(await run(await platformOf(place))) };
    } catch (error) {
      outcomes[name] = { threw: error instanceof Error ? `${error.stack}` : String(error) };
    }
  }
  return outcomes;
}

/**
 * The error that a call rejects with or throws: its name, its message and its cause's message.
 *
 * @throws Error when the call succeeds
 */
export async function errorOf(call: () => unknown): Promise<{ name: string; message: string; cause?: string }> {
  let answer: unknown;
  try {
    answer = await call();
  } catch (error) {
    const { name, message, cause } = error as Error;
    // Only D1 reports the offset of an error in a statement; node:sqlite does not, and no code reads it.
    const placeless = (text: string) => text.replace(/ at offset \d+/, "");
    return { name, message: placeless(message), ...(cause instanceof Error && { cause: placeless(cause.message) }) };
  }
  throw new Error(`did not fail but gave ${JSON.stringify(plain(answer))}`);
}

/** A value as JSON, with a special form for each value that JSON would lose. */
function plain(value: unknown): unknown {
  if (value === undefined || Object.is(value, -0)) return { is: value === undefined ? "undefined" : "-0" };
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof ArrayBuffer) return { buffer: Array.from(new Uint8Array(value)) };
  if (value instanceof Uint8Array) return { bytes: Array.from(value) };
  if (value instanceof Map) return { map: [...value].map(plain) };
  if (Array.isArray(value)) return value.map(plain);
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, plain(inner)]));
}
