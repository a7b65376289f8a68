import { withoutMade } from "./tables.ts";

/** Forms of numbers that only the bench or a price list gives, whether they are true now or were true before. */
const MEASURED = [
  /\d[\d.,]* ?×/g,
  /\d+\.\d+ ?x\b/g,
  /\d[\d.,]*\s+times\s+(?:faster|slower)/g,
  /\d[\d.,]*\s+creates(?:\/s\b|\s+a\s+second)/g,
  /\d[\d.,]*\s?KiB\b/g,
  /\$\d(?:[\d.,]*\d)?(?=.*(?:million|百万))/g,
  /(?<=(?:million|百万).*)\$\d(?:[\d.,]*\d)?/g,
];

/** Numbers that no sentence under the heading "Numbers" may have. */
const RESULTS = /\$\d[\d.,]*\d|\d[\d.,]* ?bytes\b|\d+\.\d+ ms/g;

/** Forms of texts that can mean only one result. Short ones such as `7` or `3.1` may mean something else. */
const BENCH_NUMBER = /^\$\d[\d,]*\.\d+$|^\d[\d,]*\.\d+ ms$|^\d{3,} bytes$/;

/**
 * Finds numbers of the bench that a page has outside its markers, where no run of the bench changes them.
 *
 * @param numbers the texts of the results, from number-tables.ts
 */
export function strayNumbers(page: string, numbers: Record<string, string>): string[] {
  const pageWithoutMade = withoutMade(page);
  const benchNumbers = Object.values(numbers).filter(
    (number) => BENCH_NUMBER.test(number) && pageWithoutMade.includes(number),
  );
  const [, results = ""] = pageWithoutMade.split(/^##? Numbers$/m);
  return [
    ...benchNumbers,
    ...MEASURED.flatMap((number) => pageWithoutMade.match(number) ?? []),
    ...(results.match(RESULTS) ?? []),
  ];
}
