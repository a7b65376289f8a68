import { describe, expect, it } from "vitest";
import { SITE_TABLES } from "../src/operators/store/site-tables.ts";
import { rowsOf } from "./support/markdown.ts";
import { TABLES } from "./support/tables.ts";

const textOf = (files: Record<string, string>) => Object.values(files).join("\n");
const PAGE = textOf(import.meta.glob("../docs/data-location.md", { query: "?raw", import: "default", eager: true }));
const WRANGLER = textOf(import.meta.glob("../wrangler.toml", { query: "?raw", import: "default", eager: true }));

/** The names in the first cells of the table whose first column has this heading. */
function namesUnder(heading: string): string[] {
  const [, table = ""] = PAGE.split(`\n| ${heading} |`);
  return rowsOf(table.split("\n\n")[0] ?? "").flatMap(([cell = ""]) =>
    [...cell.matchAll(/`([\w-]+)`/g)].map(([, name = ""]) => name),
  );
}

describe("the page on where data lies", () => {
  it("data-location.md names each table of the schema, and only tables that exist", () => {
    const tables = TABLES.map(({ name }) => name);
    expect(tables.length).toBeGreaterThan(30);
    const named = [...namesUnder("tables of a home"), ...namesUnder("tables of the directory")];
    expect([...new Set(named)].sort()).toEqual(tables.sort());
  });

  it("data-location.md names each table of a site among the tables of a home", () => {
    const ofSites = Object.keys(SITE_TABLES);
    expect(ofSites).toContain("refusals");
    expect(namesUnder("tables of a home")).toEqual(expect.arrayContaining(ofSites));
  });

  it("data-location.md says of each KV namespace and queue of wrangler.toml what it holds", () => {
    const production = WRANGLER.split("\n[env.")[0] ?? "";
    const namespaces = [...production.matchAll(/^\[\[kv_namespaces\]\]\nbinding = "(\w+)"$/gm)];
    const queues = [...production.matchAll(/^\[\[queues\.producers\]\]\nbinding = "\w+"\nqueue = "([\w-]+)"$/gm)];
    const names = [...namespaces, ...queues].map(([, name]) => name);
    expect(names).toEqual(expect.arrayContaining(["NONCES", "agent-session-journal"]));
    expect(namesUnder("place")).toEqual(expect.arrayContaining(names));
  });
});
