/** This file writes metrics as text: OpenMetrics 1.0, https://prometheus.io/docs/specs/om/open_metrics_spec/. */

export const OPENMETRICS_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/** A value with its labels. */
export interface Sample {
  labels?: Readonly<Record<string, string>>;
  value: number;
}

/** Samples of one name. */
export interface MetricFamily {
  /** Without `_total`. Ends with the unit, if there is one. */
  name: string;
  type: "counter" | "gauge";
  unit?: "bytes" | "seconds";
  help: string;
  samples: Sample[];
}

const escapeLabel = (text: string): string =>
  text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');

const numberOf = (value: number): string => {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
};

function sampleLine(name: string, { labels = {}, value }: Sample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`);
  return `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${numberOf(value)}`;
}

/** The text of an exposition. It names also families without samples, so that a scraper knows of them. */
export function openMetrics(families: readonly MetricFamily[]): string {
  const lines = families.flatMap(({ name, type, unit, help, samples }) => [
    `# TYPE ${name} ${type}`,
    ...(unit === undefined ? [] : [`# UNIT ${name} ${unit}`]),
    `# HELP ${name} ${escapeLabel(help)}`,
    ...samples.map((sample) => sampleLine(type === "counter" ? `${name}_total` : name, sample)),
  ]);
  return `${[...lines, "# EOF"].join("\n")}\n`;
}
