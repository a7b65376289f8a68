import { expect, it } from "vitest";
import { openMetrics } from "../../../src/operators/usage/openmetrics.ts";

it("OpenMetrics text has the type, unit and help of each family before its samples, and escapes labels and help", () => {
  const text = openMetrics([
    {
      name: "homes_size_bytes",
      type: "gauge",
      unit: "bytes",
      help: 'A "size",\nor a \\ more',
      samples: [{ labels: { home: 'a"b\\c\nd', kind: "x" }, value: 1.5 }, { value: Infinity }],
    },
    { name: "calls", type: "counter", help: "Calls.", samples: [{ labels: { app: "1" }, value: 7 }] },
    { name: "empty", type: "gauge", help: "None.", samples: [] },
  ]);
  expect(text.split("\n")).toEqual([
    "# TYPE homes_size_bytes gauge",
    "# UNIT homes_size_bytes bytes",
    String.raw`# HELP homes_size_bytes A \"size\",\nor a \\ more`,
    String.raw`homes_size_bytes{home="a\"b\\c\nd",kind="x"} 1.5`,
    "homes_size_bytes +Inf",
    "# TYPE calls counter",
    "# HELP calls Calls.",
    'calls_total{app="1"} 7',
    "# TYPE empty gauge",
    "# HELP empty None.",
    "# EOF",
    "",
  ]);
});
