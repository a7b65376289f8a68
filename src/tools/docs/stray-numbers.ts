import { withoutMade } from "./tables.ts";

/** What only the bench or a price list says, whether it is true today or was true once. */
const MEASURED = [
  /\d[\d.,]* ?×/g,
  /\d+\.\d+ ?x\b/g,
  /\d[\d.,]*\s+times\s+(?:faster|slower)/g,
  /\d[\d.,]*\s+creates(?:\/s\b|\s+a\s+second)/g,
  /\d[\d.,]*\s?KiB\b/g,
  /\$\d(?:[\d.,]*\d)?(?=.*(?:million|百万))/g,
  /(?<=(?:million|百万).*)\$\d(?:[\d.,]*\d)?/g,
];

/** What no sentence under the heading "Numbers" may have. */
const RESULTS = /\$\d[\d.,]*\d|\d[\d.,]* ?bytes\b|\d+\.\d+ ms/g;

/** Texts like these name one result alone; `7` or `3.1` may be something else. */
const TELLING = /^\$\d[\d,]*\.\d+$|^\d[\d,]*\.\d+ ms$|^\d{3,} bytes$/;

/**
 * Numbers of the bench that stand in a page outside of its markers, where no run of the bench changes them.
 *
 * @param numbers what the pages say of the results: number-tables.ts
 */
export function strayNumbers(page: string, numbers: Record<string, string>): string[] {
  const written = withoutMade(page);
  const told = Object.values(numbers).filter((number) => TELLING.test(number) && written.includes(number));
  const [, results = ""] = written.split(/^##? Numbers$/m);
  return [...told, ...MEASURED.flatMap((number) => written.match(number) ?? []), ...(results.match(RESULTS) ?? [])];
}
