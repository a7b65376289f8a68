import { expect, it } from "vitest";

const [readme = ""] = Object.values(
  import.meta.glob("../README.md", { query: "?raw", import: "default", eager: true }),
);
const examples = Object.entries(
  import.meta.glob("../src/client/examples/*", { query: "?raw", import: "default", eager: true }),
);

it("shows the example of each language as it is", () => {
  expect(examples).toHaveLength(6);
  for (const [path, source] of examples) expect(readme, path).toContain(`\n${source.trimEnd()}\n`);
});
