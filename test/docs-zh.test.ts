import { describe, expect, it } from "vitest";
import { WIRE_ERRORS } from "../src/errors.ts";
import { ACCEPTED_VECTOR, DOCUMENTED_VECTOR, VECTOR_SECRET } from "../src/openapi/signature-vectors.ts";

const pages = Object.entries<string>(
  import.meta.glob(["../README.zh-CN.md", "../docs/zh/*.md"], { query: "?raw", import: "default", eager: true }),
);
const examples = Object.entries<string>(
  import.meta.glob("../src/client/examples/[Cc]reate*", { query: "?raw", import: "default", eager: true }),
);
/** The pages for callers, who must know the contract. */
const callers = pages.filter(([path]) => !path.endsWith("/receiving.md"));
const guide = pages.find(([path]) => path.endsWith("/integrating.md"))?.[1] ?? "";

const blocksOf = (page: string, language: string) =>
  [...page.matchAll(/^```(\w+)\n(.*?)^```$/gms)].filter(([, of]) => of === language).map(([, , code = ""]) => code);

it("has the Chinese pages to compare", () => {
  expect(pages.map(([path]) => path).sort()).toEqual([
    ...["../README.zh-CN.md", "../docs/zh/integrating.md", "../docs/zh/receiving.md"],
  ]);
});

describe.each(callers)("%s", (_, page) => {
  it("names every refusal with its status", () => {
    const rows = page.split("\n").filter((line) => line.startsWith("| "));
    for (const { status, message } of Object.values(WIRE_ERRORS)) {
      const row = rows.find((each) => each.includes(String(status)) && each.includes(`\`${message}\``));
      expect(row, `${status} ${message}`).toBeDefined();
    }
  });

  it("gives the signature vector whose fields are accepted: key, bytes and digits", () => {
    expect(page).toContain(VECTOR_SECRET);
    expect(blocksOf(page, "json")).toContain(`${ACCEPTED_VECTOR.body}\n`);
    expect(page).toContain(`\`${ACCEPTED_VECTOR.signature}\``);
  });
});

describe("the guide in Chinese", () => {
  it("gives the documented signature vector too", () => {
    expect(blocksOf(guide, "json")).toContain(`${DOCUMENTED_VECTOR.body}\n`);
    expect(guide).toContain(`\`${DOCUMENTED_VECTOR.signature}\``);
  });

  it("links to the example of every language", () => {
    expect(examples).toHaveLength(6);
    for (const [path] of examples) expect(guide).toContain(`](../${path})`);
  });

  it.each(["sh", "py"])("shows the code of create-session.%s unchanged, below its opening comment", (extension) => {
    const source = examples.find(([path]) => path.endsWith(`/create-session.${extension}`))?.[1] ?? "";
    const code = source.slice(source.search(/^(set -eu|import )/m));
    expect(blocksOf(guide, extension === "sh" ? "sh" : "python")).toContain(code);
  });
});
