import { expect, it } from "vitest";
import { ACCEPTED_VECTOR, DOCUMENTED_VECTOR, VECTOR_SECRET } from "../src/openapi/signature-vectors.ts";

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

it("gives the signature vectors, key, bytes and digits", () => {
  expect(readme).toContain(VECTOR_SECRET);
  for (const { body, signature } of [ACCEPTED_VECTOR, DOCUMENTED_VECTOR]) {
    expect(readme).toContain(`\n${body}\n`);
    expect(readme).toContain(`\`${signature}\``);
  }
});
