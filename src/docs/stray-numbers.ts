import { withoutMade } from "./tables.ts";

/** Units of what only the bench measures, wherever a page has them. */
const MEASURED = /\d[\d.,]* ?(?:×|creates\/s\b|KiB, gzipped)/g;

/** What no sentence under the heading "Numbers" may have. */
const RESULTS = /\$\d[\d.,]*\d|\d[\d.,]* ?(?:KiB|bytes)\b|\d+\.\d+ ms/g;

/** Texts like these name one result alone; `7` or `3.1` may be something else. */
const TELLING = /^\$\d[\d,]*\.\d+$|^\d[\d,]*\.\d+ (?:ms|KiB)$|^\d{3,} bytes$/;

/**
 * Numbers of the bench that stand in a page outside of its markers, where no run of the bench changes them.
 *
 * @param numbers what the pages say of the results: number-tables.ts
 */
export function strayNumbers(page: string, numbers: Record<string, string>): string[] {
  const written = withoutMade(page);
  const told = Object.values(numbers).filter((number) => TELLING.test(number) && written.includes(number));
  const [, results = ""] = written.split(/^##? Numbers$/m);
  return [...told, ...(written.match(MEASURED) ?? []), ...(results.match(RESULTS) ?? [])];
}
