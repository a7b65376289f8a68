import { availableParallelism } from "node:os";
import { readOptions, UsageError } from "../../../src/tools/cli/known-options.ts";
import { countedWords } from "./report.ts";
import { countedFrom, derivedFrom, MOST_SEED } from "./seeds.ts";

const STEPS = 8_000;
/** The number of seeds without --seeds and --seconds. */
const SEEDS = 40;
const SEEDS_FOR_A_DEFECT = 40;

export const USAGE = `npm run simulate -- [options]

Runs the whole service in simulated time, under faults that the seed decides. The same seed does the same again.

  --seed N        one seed, 0 to ${MOST_SEED}
  --seeds N       so many seeds, from 1; default ${SEEDS}
  --steps N       how many turns each seed takes; default ${STEPS}
  --seconds N     starts no new seed after so many seconds; without --seeds there is no other limit
  --from TEXT     derives the seeds from a text: a commit, for example
  --trace FILE    writes all that happens in the one seed of --seed
  --report FILE   writes as JSON how often each thing was seen, and which rules were asked; slower by a quarter
  --defects       plants each known defect in the Worker, each alone, and says which rule finds it
  --defect NAME   plants this one only
  --threads N     so many seeds at once; default as many as there are cores
  --help, -h      this

  npm run simulate -- --seeds 200
  npm run simulate -- --seed 7 --steps 1234 --trace seed-7.trace
  npm run simulate -- --from "$(git rev-parse HEAD)" --seconds 60
  npm run simulate -- --defects

A defect is looked for in ${SEEDS_FOR_A_DEFECT} seeds, unless --seed or --seeds says otherwise.

Exit code: 0 nothing found, 1 a promise was broken or a defect was not found, 2 called wrongly.`;

const OPTIONS = {
  seed: { type: "string" },
  seeds: { type: "string" },
  steps: { type: "string" },
  seconds: { type: "string" },
  from: { type: "string" },
  trace: { type: "string" },
  report: { type: "string" },
  defects: { type: "boolean" },
  defect: { type: "string" },
  threads: { type: "string" },
  help: { type: "boolean", short: "h" },
} as const;

export interface Command {
  seeds: () => Iterable<number>;
  /** How the report names the seeds when `count` of them have run. */
  seedWords: (count: number) => string;
  steps: number;
  /** Undefined means no limit. */
  seconds: number | undefined;
  traceFile: string | undefined;
  reportFile: string | undefined;
  threads: number;
  /** The names of the defects to plant; undefined to run the code without defects. */
  defects: readonly string[] | undefined;
}

/**
 * @param defectNames the names of all defects
 * @returns "help" for --help
 * @throws UsageError for options that are unknown, invalid, or contradict each other
 */
export function readCommand(args: string[], defectNames: readonly string[]): Command | "help" {
  const { values } = readOptions("npm run simulate -- --seed 7", args, OPTIONS);
  const { from, trace, report, defect } = values;
  if (values.help === true) return "help";
  const planting = values.defects === true || defect !== undefined;
  const has = (...names: (keyof typeof OPTIONS)[]) => names.every((name) => values[name] !== undefined);
  const refusals: [boolean, string][] = [
    [has("seed", "seeds"), "--seed is for one seed and --seeds for many: give one of them."],
    [has("seed", "from"), "--seed names the seed and --from derives it: give one of them."],
    [has("seed", "seconds"), "--seconds is for many seeds: leave out --seed."],
    [has("seconds") && planting, "--seconds is not for defects: how fast a machine is must not matter."],
    [has("trace") && !has("seed"), "--trace writes what happens in one seed: add --seed."],
    [has("trace") && planting && !has("defect"), "--trace is for one run: add --defect."],
    [has("report") && planting, "--report is for the code as it is: leave out --defects and --defect."],
    [trace === "" || report === "", "--trace and --report need the name of a file."],
    [from === "", "--from needs a text."],
    [
      defect !== undefined && !defectNames.includes(defect),
      `"${defect}" is no known defect. They are ${defectNames.join(", ")}.`,
    ],
  ];
  for (const [is, why] of refusals) if (is) throw new UsageError(why);

  const integer = (name: "seed" | "seeds" | "steps" | "seconds" | "threads", least: number, most: number) => {
    const text = values[name];
    if (text === undefined || (/^\d+$/.test(text) && +text >= least && +text <= most))
      return text === undefined ? undefined : Number(text);
    throw new UsageError(`--${name} "${text}" is not a whole number from ${least} to ${most}.`);
  };
  const one = integer("seed", 0, MOST_SEED);
  const seconds = integer("seconds", 1, 86_400);
  const usual = planting ? SEEDS_FOR_A_DEFECT : seconds === undefined ? SEEDS : undefined;
  const count = one === undefined ? (integer("seeds", 1, MOST_SEED) ?? usual) : 1;
  const which = from === undefined ? "from 1" : `derived from "${from}"`;
  return {
    seeds: () => (from === undefined ? countedFrom(one ?? 1, count) : derivedFrom(from, count)),
    seedWords: (count) => (one === undefined ? `${countedWords(count, "seed")} ${which}` : `Seed ${one}`),
    steps: integer("steps", 1, 1_000_000_000) ?? STEPS,
    seconds,
    traceFile: trace,
    reportFile: report,
    threads: integer("threads", 1, 256) ?? availableParallelism(),
    defects: !planting ? undefined : defect !== undefined ? [defect] : defectNames,
  };
}
