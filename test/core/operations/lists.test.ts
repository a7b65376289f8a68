import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { addFields, createFields } from "../../../src/client/arguments.ts";
import { OPERATION_NAMES, pathOf } from "../../../src/client/operations.ts";
import { DOCUMENTED, OPERATIONS } from "../../../src/core/operations/index.ts";
import type { Documentation, Operation } from "../../../src/core/operations/operation.ts";

const FOLDER = join(import.meta.dirname, "../../../src/core/operations");

/** What each file of src/core/operations/ exports. Those that operations share have no default export. */
const modules = await Promise.all(
  readdirSync(FOLDER).map(async (file) => {
    const exported: { default?: Operation; documentation?: Documentation } = await import(join(FOLDER, file));
    return { file, operation: exported.default, documentation: exported.documentation };
  }),
);
const FILES = modules.filter(({ operation }) => operation !== undefined);

describe("an operation", () => {
  it.each(FILES)("is in both lists of src/core/operations/index.ts: $file", ({ operation, documentation }) => {
    expect(OPERATIONS).toContain(operation);
    expect(DOCUMENTED).toContainEqual({ operation, documentation });
  });

  it("is listed once, and in one order in both lists", () => {
    expect(OPERATIONS).toHaveLength(FILES.length);
    expect(DOCUMENTED.map(({ operation }) => operation)).toEqual(OPERATIONS);
  });

  it("is known to the client: src/client/operations.ts has its name on the wire, and where it is", () => {
    expect(OPERATION_NAMES).toEqual(OPERATIONS.map(({ wireName }) => wireName));
    expect(OPERATION_NAMES.map(pathOf)).toEqual(OPERATIONS.map(({ path }) => path));
  });

  it.each([
    [
      "create_gd",
      createFields({ customer: { id: 1, name: "", ip: "" }, content: "", agentIds: [1], responsibleAgentId: 1 }),
    ],
    ["add_kf", addFields({ chatId: 1, agentIds: [] })],
  ])("can be given each of its fields by the client's own method: %s", (wireName, sent) => {
    const operation = OPERATIONS.find((each) => each.wireName === wireName);
    expect(Object.keys(sent).sort()).toEqual([...(operation?.fieldNames ?? [])].sort());
  });

  it.each(["name", "wireName"] as const)("has a %s of lower-case letters, digits and _ that no other has", (kind) => {
    const names = OPERATIONS.map((operation) => operation[kind]);
    expect(names.filter((name) => !/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(name))).toEqual([]);
    expect(names).toEqual([...new Set(names)]);
  });

  it.each(FILES)("has a test of its own: test/core/operations/ has one for $file", ({ file }) => {
    expect(readdirSync(import.meta.dirname)).toContain(file.replace(/ts$/, "test.ts"));
  });
});

/** The operations and the fields of the contract, sections 4.1 and 4.2. All others are extensions. */
const CONTRACT: Record<string, readonly string[]> = {
  create_gd: ["sbs", "ip", "sbs_mc", "content", "title", "kefu_id", "fzr_uid", "sender_type"],
  add_kf: ["chat_id", "kefu_ids"],
};
const EXTENSION = "An extension of this service; the contract does not have it.";

describe.each(DOCUMENTED.map(({ operation, documentation }) => ({ ...operation, documentation })))(
  "the documentation of $name",
  ({ wireName, fieldNames, refusals, documentation: { description, fields, probes, examples, refusals: words } }) => {
    it("describes every field, and nothing else", () => {
      const described = Object.keys(fields).filter((field) => fields[field]?.description);
      expect(described.sort()).toEqual([...fieldNames].sort());
      expect(fieldNames).toEqual(expect.arrayContaining(Object.keys(probes?.() ?? {})));
    });

    it("has the cause and the cure of every refusal, and of nothing else", () => {
      const explained = Object.keys(words).filter((refusal) => words[refusal]?.cause && words[refusal].cure);
      expect(explained.sort()).toEqual(Object.keys(refusals).sort());
    });

    it("has each field in an example, and examples have its fields only", () => {
      const shown = Object.values(examples).flatMap((example) => Object.keys(example.fields));
      expect([...new Set(shown)].sort()).toEqual([...fieldNames].sort());
    });

    it("says of itself, or of each field, that the contract does not have it", () => {
      const ours = fieldNames.filter((field) => !CONTRACT[wireName]?.includes(field));
      const silent = ours.filter((field) => !String(fields[field]?.description).includes(EXTENSION));
      expect(wireName in CONTRACT || description.includes(EXTENSION) ? silent : [wireName]).toEqual([]);
    });
  },
);
