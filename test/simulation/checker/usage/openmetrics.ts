/** A strict reader of OpenMetrics text, as a scraper is: https://prometheus.io/docs/specs/om/open_metrics_spec/ */

/** The value of each series, by its name and its sorted labels. */
export type Series = Map<string, number>;

const NAME = "[a-zA-Z_:][a-zA-Z0-9_:]*";
const LABEL = '[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\\\\n]|\\\\["\\\\n])*"';
const META = new RegExp(`^# (TYPE|UNIT|HELP) (${NAME}) (.+)$`);
const SAMPLE = new RegExp(`^(${NAME})(?:\\{(${LABEL}(?:,${LABEL})*)\\})? (\\+Inf|-?\\d+(?:\\.\\d+)?(?:e[+-]?\\d+)?)$`);
const ORDER = ["TYPE", "UNIT", "HELP"];

interface Family {
  name: string;
  type: string;
  /** The metadata and samples so far. */
  parts: string[];
}

/** @throws Error for text that a strict scraper refuses */
export function readOpenMetrics(text: string): Series {
  if (!text.endsWith("\n# EOF\n") && text !== "# EOF\n") throw new Error("it does not end in # EOF");
  const series: Series = new Map();
  const families = new Set<string>();
  let family: Family = { name: "", type: "", parts: [] };
  for (const line of text.split("\n").slice(0, -2)) {
    const [, part = "", name = "", value = ""] = META.exec(line) ?? [];
    if (part === "TYPE") {
      if (families.has(name)) throw new Error(`a second family: ${line}`);
      if (value !== "counter" && value !== "gauge") throw new Error(`another type: ${line}`);
      if (value === "counter" && name.endsWith("_total")) throw new Error(`a family's name has no _total: ${line}`);
      families.add(name);
      family = { name, type: value, parts: [part] };
    } else if (part !== "") {
      const isInOrder = family.name === name && ORDER.indexOf(part) > ORDER.indexOf(family.parts.at(-1) ?? "");
      if (!isInOrder || family.parts.includes("sample")) throw new Error(`out of order: ${line}`);
      if (part === "UNIT" && !name.endsWith(`_${value}`)) throw new Error(`the name lacks its unit: ${line}`);
      if (part === "HELP" && /\\[^\\n"]/.test(value)) throw new Error(`wrongly escaped: ${line}`);
      family.parts.push(part);
    } else addSample(series, family, line);
  }
  return series;
}

function addSample(series: Series, family: Family, line: string): void {
  const [, name, labels = "", value] = SAMPLE.exec(line) ?? [];
  if (name === undefined || value === undefined) throw new Error(`no sample: ${line}`);
  const expected = family.type === "counter" ? `${family.name}_total` : family.name;
  if (name !== expected || !family.parts.includes("HELP")) throw new Error(`of no family, or without help: ${line}`);
  family.parts.push("sample");
  const pairs = labels === "" ? [] : (labels.match(new RegExp(LABEL, "g")) ?? []);
  const names = pairs.map((pair) => pair.split("=")[0]);
  if (new Set(names).size < names.length) throw new Error(`a label twice: ${line}`);
  const key = `${name}{${pairs.sort().join(",")}}`;
  if (series.has(key)) throw new Error(`a series twice: ${line}`);
  const number = value === "+Inf" ? Number.POSITIVE_INFINITY : Number(value);
  if (family.type === "counter" && !(number >= 0 && Number.isInteger(number))) throw new Error(`no count: ${line}`);
  series.set(key, number);
}
