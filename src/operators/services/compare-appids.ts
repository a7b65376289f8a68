/** A stretch of an appid; `differs` when the other appid does not have it there. */
export interface AppidPart {
  text: string;
  differs: boolean;
}

/** How a given appid differs from one that exists. */
export interface AppidDifference {
  givenParts: AppidPart[];
  existing: AppidPart[];
  /** The given appid has blanks or other characters that no appid has. */
  hasForeignCharacters: boolean;
  /** A letter is a capital in one appid and small in the other. */
  differsInCase: boolean;
  /** Characters that look alike were taken for one another: 0 and O, or 1, l and I. */
  hasLookalikes: boolean;
  /** How many characters are missing, added, changed, or swapped with the next. */
  slips: number;
}

/** The weight of one slip. It is more than all slight differences of an appid weigh together. */
const COST_OF_SLIP = 1_000;

const LOOKALIKES: Record<string, string> = { o: "0", l: "1", i: "1" };

/** A character as a reader takes it: a small letter, full width as half, o as 0, l and i as 1. */
const foldedCharacter = (character: string): string => {
  const small = character.normalize("NFKC").toLowerCase();
  return LOOKALIKES[small] ?? small;
};

const isForeign = (character: string): boolean => !/^[\w-]$/.test(character.normalize("NFKC"));

/** An appid without the characters that no appid has, each other character as a reader takes it. */
export const foldedAppid = (appid: string): string =>
  [...appid]
    .filter((character) => !isForeign(character))
    .map(foldedCharacter)
    .join("");

/** How many slips are believable. With two slips, a short appid could become any other. */
export const believableSlips = (folded: string): number => (folded.length >= 8 ? 2 : folded.length >= 4 ? 1 : 0);

type EditStep = "same" | "folded" | "changed" | "added" | "missing" | "swapped";

/** Compares two appids character by character, with the fewest slips. The optimal string alignment distance, with its steps. */
export function compareAppids(givenAppid: string, existing: string): AppidDifference {
  const [a, b] = [[...givenAppid], [...existing]];
  const rows: { cost: number; step: EditStep }[][] = [];
  const costAt = (i: number, j: number) => rows[i]?.[j]?.cost ?? Number.POSITIVE_INFINITY;
  for (let i = 0; i <= a.length; i++) {
    const row: { cost: number; step: EditStep }[] = [];
    rows.push(row);
    for (let j = 0; j <= b.length; j++)
      row.push(i + j === 0 ? { cost: 0, step: "same" } : cheapestStep(a, b, i, j, costAt));
  }
  const steps: EditStep[] = [];
  for (let [i, j] = [a.length, b.length]; i + j > 0; ) {
    const step = rows[i]?.[j]?.step ?? "changed";
    steps.unshift(step);
    const wide = step === "swapped" ? 2 : 1;
    if (step !== "missing") i -= wide;
    if (step !== "added") j -= wide;
  }
  return differenceOf(a, b, steps);
}

function cheapestStep(a: string[], b: string[], i: number, j: number, at: (i: number, j: number) => number) {
  const [ownCharacter = "", otherCharacter = ""] = [a[i - 1], b[j - 1]];
  const folded = foldedCharacter(ownCharacter) === foldedCharacter(otherCharacter);
  const isSwapped = ownCharacter !== otherCharacter && ownCharacter === b[j - 2] && a[i - 2] === otherCharacter;
  const choices: [cost: number, step: EditStep][] = [
    i > 0 && j > 0
      ? [
          at(i - 1, j - 1) + (ownCharacter === otherCharacter ? 0 : folded ? 1 : COST_OF_SLIP),
          ownCharacter === otherCharacter ? "same" : folded ? "folded" : "changed",
        ]
      : [Number.POSITIVE_INFINITY, "changed"],
    [at(i - 1, j) + (isForeign(ownCharacter) ? 1 : COST_OF_SLIP), "added"],
    [at(i, j - 1) + COST_OF_SLIP, "missing"],
    [isSwapped ? at(i - 2, j - 2) + COST_OF_SLIP : Number.POSITIVE_INFINITY, "swapped"],
  ];
  const [[cost, step] = [0, "same" as EditStep]] = choices.sort(([x], [y]) => x - y);
  return { cost, step };
}

function differenceOf(a: string[], b: string[], steps: EditStep[]): AppidDifference {
  const difference: AppidDifference = {
    givenParts: [],
    existing: [],
    hasForeignCharacters: false,
    differsInCase: false,
    hasLookalikes: false,
    slips: 0,
  };
  const takePart = (from: string[], to: AppidPart[], at: number, count: number, differs: boolean) => {
    const text = from.slice(at, at + count).join("");
    const lastPart = to.at(-1);
    if (lastPart?.differs === differs) lastPart.text += text;
    else if (text !== "") to.push({ text, differs });
    return at + count;
  };
  let [i, j] = [0, 0];
  for (const step of steps) {
    const [ownCharacter = "", otherCharacter = ""] = [a[i], b[j]];
    if (step === "folded") {
      if (ownCharacter.toLowerCase() === otherCharacter.toLowerCase()) difference.differsInCase = true;
      else difference.hasLookalikes = true;
    } else if (step === "added" && isForeign(ownCharacter)) difference.hasForeignCharacters = true;
    else if (step !== "same") difference.slips++;
    const wide = step === "swapped" ? 2 : 1;
    i = takePart(a, difference.givenParts, i, step === "missing" ? 0 : wide, step !== "same");
    j = takePart(b, difference.existing, j, step === "added" ? 0 : wide, step !== "same");
  }
  return difference;
}
