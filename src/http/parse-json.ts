const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** An integer as JSON writes it; `1.0` and `1e3` are numbers too, but not integers as written. */
const WRITTEN_INTEGER = /^-?(0|[1-9][0-9]*)$/;

/**
 * A body that is one JSON object in strict UTF-8 without BOM, or undefined. Whatever makes the decoder or the parser throw is
 * undefined too, thousands of brackets included.
 *
 * @param digitsOf a top-level field whose integers are wanted as their digits, exact beyond 2^53; any other number stays a number
 */
export function parseJsonObject(bytes: ArrayBuffer, digitsOf?: string): Record<string, unknown> | undefined {
  try {
    const text = strictUtf8.decode(bytes);
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    const object = value as Record<string, unknown>;
    // Only a number needs the second, slower look; most identifiers are strings.
    if (digitsOf !== undefined && typeof object[digitsOf] === "number") {
      const digits = writtenNumber(text, digitsOf);
      if (WRITTEN_INTEGER.test(digits)) object[digitsOf] = digits;
    }
    return object;
  } catch {
    return undefined;
  }
}

/** How the number in a top-level field was written. */
function writtenNumber(text: string, field: string): string {
  const mark = (key: string, value: unknown, { source }: { source?: string }) =>
    key === field && typeof value === "number" ? { written: source } : value;
  const marked = JSON.parse(text, mark as (key: string, value: unknown) => unknown) as Record<
    string,
    { written?: string }
  >;
  return marked[field]?.written ?? "";
}
