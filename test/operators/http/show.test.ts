import { describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { show } from "../../../src/operators/http/show.ts";

const schema = z.object({
  site_id: z.int(),
  sha_256: z.optional(z.string()),
  last_used_at: z.nullable(z.int()),
  parts: z.array(z.object({ agent_id: z.int() })),
  home: z.nullable(z.object({ is_open: z.boolean() })),
  receipts: z.optional(z.array(z.string())),
  by_table: z.record(z.string(), z.int()),
});

describe("an answer", () => {
  it("an answer has the fields of its schema, in the schema's order and with its names", () => {
    const value = {
      byTable: { audit_log: 1 },
      receipts: ["r"],
      home: { isOpen: true },
      parts: [{ agentId: 7 }],
      lastUsedAt: null,
      sha256: "ab",
      siteId: 1,
    };
    expect(JSON.stringify(show(schema, value))).toBe(
      '{"site_id":1,"sha_256":"ab","last_used_at":null,"parts":[{"agent_id":7}],"home":{"is_open":true},"receipts":["r"],"by_table":{"audit_log":1}}',
    );
  });

  it("an answer has no stored field that its schema does not name, at any depth", () => {
    const value = {
      siteId: 1,
      lastUsedAt: 2,
      parts: [{ agentId: 7, secret: "s" }],
      home: null,
      receipts: undefined,
      byTable: {},
      secret: "s",
    };
    expect(JSON.stringify(show(schema, value))).toBe(
      '{"site_id":1,"last_used_at":2,"parts":[{"agent_id":7}],"home":null,"by_table":{}}',
    );
  });

  it("a schema that is a union is refused: the handler must choose one of its schemas", () => {
    const union = z.union([z.object({ chat_id: z.int() }), z.object({ at: z.int() })]);
    expect(() => show(union, { at: 1 })).toThrow("one schema of a union");
  });
});
