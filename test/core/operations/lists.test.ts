import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { addFields, createFields } from "../../../src/client/arguments.ts";
import { OPERATION_NAMES, pathOf } from "../../../src/client/operations.ts";
import { DOCUMENTED, OPERATIONS } from "../../../src/core/operations/index.ts";
import type { Documentation, Operation } from "../../../src/core/operations/operation.ts";
import { SESSION_STATUSES } from "../../../src/core/store/schema.ts";

const FOLDER = join(import.meta.dirname, "../../../src/core/operations");

/** The exports of each file of src/core/operations/. Files that operations share have no default export. */
const modules = await Promise.all(
  readdirSync(FOLDER).map(async (file) => {
    const module: { default?: Operation; documentation?: Documentation } = await import(join(FOLDER, file));
    return { file, operation: module.default, documentation: module.documentation };
  }),
);
const FILES = modules.filter(({ operation }) => operation !== undefined);

describe("an operation", () => {
  it.each(FILES)(
    "the operation of the file $file is in both lists of src/core/operations/index.ts",
    ({ operation, documentation }) => {
      expect(OPERATIONS).toContain(operation);
      expect(DOCUMENTED).toContainEqual({ operation, documentation });
    },
  );

  it("each operation is listed once, and both lists have the same order", () => {
    expect(OPERATIONS).toHaveLength(FILES.length);
    expect(DOCUMENTED.map(({ operation }) => operation)).toEqual(OPERATIONS);
  });

  it("src/client/operations.ts has the wire name and the path of each operation", () => {
    expect(OPERATION_NAMES).toEqual(OPERATIONS.map(({ wireName }) => wireName));
    expect(OPERATION_NAMES.map(pathOf)).toEqual(OPERATIONS.map(({ path }) => path));
  });

  it.each([
    [
      "create_gd",
      createFields({ customer: { id: 1, name: "", ip: "" }, content: "", agentIds: [1], responsibleAgentId: 1 }),
    ],
    ["add_kf", addFields({ chatId: 1, agentIds: [] })],
  ])("the client's own method for %s can send each of its fields", (wireName, sent) => {
    const operation = OPERATIONS.find((each) => each.wireName === wireName);
    expect(Object.keys(sent).sort()).toEqual([...(operation?.fieldNames ?? [])].sort());
  });

  it.each(["name", "wireName"] as const)(
    "each operation has its own %s, of lower-case letters, digits and _",
    (kind) => {
      const names = OPERATIONS.map((operation) => operation[kind]);
      expect(names.filter((name) => !/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(name))).toEqual([]);
      expect(names).toEqual([...new Set(names)]);
    },
  );

  it.each(FILES)("each status that $file gives a session is one of SESSION_STATUSES", ({ file }) => {
    const source = readFileSync(join(FOLDER, file), "utf8");
    const statuses = [...source.matchAll(/\bstatus: sql`'(\w+)'`/g)].map(([, status]) => status);
    expect(SESSION_STATUSES).toEqual(expect.arrayContaining(statuses));
  });

  it.each(FILES)("test/core/operations/ has a test for the operation in $file", ({ file }) => {
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
  ({
    wireName,
    fieldNames,
    refusals,
    documentation: { description, fields, probes, examples, statuses, refusals: words },
  }) => {
    it("the documentation of an operation describes each of its fields, and no others", () => {
      const names = Object.keys(fields).filter((field) => fields[field]?.description);
      expect(names.sort()).toEqual([...fieldNames].sort());
      expect(fieldNames).toEqual(expect.arrayContaining(Object.keys(probes?.() ?? {})));
    });

    it("the documentation of an operation has a cause and a cure for each of its refusals, and no others", () => {
      const names = Object.keys(words).filter((refusal) => words[refusal]?.cause && words[refusal].cure);
      expect(names.sort()).toEqual(Object.keys(refusals).sort());
    });

    it("the examples of an operation have each of its fields, and no others", () => {
      const names = Object.values(examples).flatMap((example) => Object.keys(example.fields));
      expect([...new Set(names)].sort()).toEqual([...fieldNames].sort());
    });

    it("an operation on a session says what it comes to in each status of the session", () => {
      expect(statuses !== undefined).toBe(fieldNames.includes("chat_id"));
      expect(["accepted", ...Object.keys(refusals)]).toEqual(expect.arrayContaining(Object.values(statuses ?? {})));
    });

    it("an operation or a field that the contract does not have is called an extension", () => {
      const known = CONTRACT[wireName];
      const ownTexts = fieldNames.filter((field) => !known?.includes(field)).map((field) => fields[field]?.description);
      const texts = known === undefined ? [description] : ownTexts;
      expect(texts.filter((text) => !String(text).includes(EXTENSION))).toEqual([]);
    });
  },
);
