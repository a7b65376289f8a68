import { describe, expect, it } from "vitest";
import { systemRuntime } from "../src/core/runtime.ts";
import { REFUSAL_REASONS } from "../src/core/signed/refusal-reasons.ts";
import { readMetricFamilies } from "../src/operators/services/metrics.ts";
import type { ServiceContext } from "../src/operators/services/service-context.ts";
import { DAYS_KEPT, HOURS_KEPT_DAYS } from "../src/operators/store/pruning/prune-usage.ts";
import type { Counter, Gauges } from "../src/operators/store/usage/home-metrics.ts";
import type { MetricFamily } from "../src/operators/usage/openmetrics.ts";
import { anchorsOf, rowsOf } from "./support/markdown.ts";

const operating = Object.values<string>(
  import.meta.glob(["../docs/operating/watching.md", "../docs/paged.md"], {
    query: "?raw",
    import: "default",
    eager: true,
  }),
).join("\n");
const paged = Object.values<string>(
  import.meta.glob("../docs/paged.md", { query: "?raw", import: "default", eager: true }),
).join();
const files: Record<string, string> = import.meta.glob("../docs/prometheus/*.yml", {
  query: "?raw",
  import: "default",
  eager: true,
});
const fileOf = (name: string) => files[`../docs/prometheus/${name}`] ?? "";

/** The rows of the table whose header begins with this cell. */
const tableAfter = (head: string) => rowsOf(operating.split(`| ${head} |`)[1]?.split("\n\n")[0] ?? "");

/** A home with a value for each metric that a home can have. */
const gauges: Gauges = {
  size: 1,
  openSites: 1,
  closedSites: 1,
  pending: 1,
  failed: 1,
  oldestPendingAt: 1,
  failing: 1,
  disabled: 1,
  pruneLag: 1,
  completeUntil: 1,
};
const counters: Counter[] = [
  { name: "calls", appid: "shop", kind: "create_session", outcome: "accepted", count: 1 },
  { name: "calls", appid: "shop", kind: "create_session", outcome: "timestamp_stale", count: 1 },
  { name: "events", appid: "", kind: "session.created", outcome: "", count: 1 },
  { name: "attempts", appid: "", kind: "", outcome: "delivered", count: 1 },
];

/** The metrics of the code, for a directory with one home and one site. */
function familiesOf(by?: "site"): Promise<MetricFamily[]> {
  const text = JSON.stringify(counters);
  const home = { home: "main", siteId: null, at: 1, gauges: JSON.stringify(gauges), counters: text };
  const site = { home: null, siteId: 1, at: null, gauges: null, counters: text };
  const all = async () => ({ results: by ? [home, site] : [home] });
  const statement = { bind: () => statement, all, raw: async () => [] };
  const directory = { prepare: () => statement };
  const config = { directory, homes: new Map([["main", directory]]), closedHomes: new Set() };
  return readMetricFamilies({ config, now: 1, runtime: systemRuntime } as unknown as ServiceContext, { by });
}

/** A label as the page shows it; for a gauge with its values. */
function labelsOf({ type, samples }: MetricFamily): string[] {
  const names = [...new Set(samples.flatMap(({ labels = {} }) => Object.keys(labels)))];
  return names.map((name) => {
    const values = [...new Set(samples.map(({ labels }) => `\`${labels?.[name]}\``))];
    return type === "gauge" && name !== "home" ? `\`${name}\`: ${values.join(", ")}` : `\`${name}\``;
  });
}

const shownName = ({ type, name }: MetricFamily) => (type === "counter" ? `${name}_total` : name);

describe("the pages on watching", () => {
  it("watching.md lists each metric with its type and its labels", async () => {
    const sums = await familiesOf();
    const bySite = await familiesOf("site");
    const expected = sums.map((family, i) => {
      const labels = labelsOf(family);
      const more = labelsOf(bySite[i] ?? family).filter((label) => !labels.includes(label));
      const also = more.length === 0 ? "" : `; with \`?by=site\` also ${more.join(", ")}`;
      return [`\`${shownName(family)}\``, family.type, `${labels.join(", ")}${also}`];
    });
    expect(expected.length).toBeGreaterThan(10);
    expect(tableAfter("metric").map((cells) => cells.slice(0, 3))).toEqual(expected);
  });

  it("paged.md lists each alert in the order of alerts.yml", () => {
    const alerts = [...fileOf("alerts.yml").matchAll(/- alert: (\w+)$/gm)].map(([, name]) => `\`${name}\``);
    expect(alerts.length).toBeGreaterThan(8);
    expect(tableAfter("alert").map(([name]) => name)).toEqual(alerts);
  });

  it("watching.md shows the scrape configuration of prometheus.yml and how long usage is kept", () => {
    const [, scraping = ""] = fileOf("prometheus.yml").split(/^(?=scrape_configs:)/m);
    expect(operating).toContain(`\`\`\`yaml\n${scraping}\`\`\``);
    expect(operating).toContain(`Hours are kept for ${HOURS_KEPT_DAYS} days, days for ${DAYS_KEPT}`);
  });
});

describe("the alerts", () => {
  it("the alerts use only metrics and reasons that the code has", async () => {
    const names = (await familiesOf()).map(shownName);
    const rules = fileOf("alerts.yml");
    const ruleNames = [...new Set(rules.match(/\bagent_session_\w+/g))];
    expect(ruleNames.length).toBeGreaterThan(6);
    expect(ruleNames.filter((name) => !names.includes(name))).toEqual([]);
    const reasons = [...rules.matchAll(/\breason=~?"([^"]+)"/g)].flatMap(([, all = ""]) => all.split("|"));
    expect(reasons.length).toBeGreaterThan(3);
    expect(reasons.filter((reason) => !REFUSAL_REASONS.includes(reason))).toEqual([]);
  });

  it("the runbook_url of each alert leads to a heading of paged.md, on the deployment that it is about", () => {
    const alerts = fileOf("alerts.yml")
      .split(/^ +- alert: /m)
      .slice(1);
    expect(alerts.length).toBeGreaterThan(8);
    const headings = anchorsOf(paged);
    const wrong = alerts.filter((alert) => {
      const [, host = "", anchor = ""] = alert.match(/^ +runbook_url: "(.+)\/docs\/paged\/#([\w-]+)"$/m) ?? [];
      return !host.includes("$labels.instance") || !headings.has(anchor);
    });
    expect(wrong).toEqual([]);
  });

  it("each alert has a test in which it fires and a test in which it does not fire", () => {
    const [, quiet = "", loud = ""] = fileOf("alerts.test.yml").split(
      /^ {2}- name: (?=a service that is well|few calls)/m,
    );
    for (const [, name] of fileOf("alerts.yml").matchAll(/- alert: (\w+)$/gm)) {
      expect(quiet).toContain(`alertname: ${name} }`);
      expect(loud + fileOf("alerts-of-days.test.yml")).toMatch(new RegExp(`alertname: ${name}\n +exp_alerts:`));
    }
  });
});
