import { sql } from "drizzle-orm";
import { describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { defineOperation } from "../../src/operations/operation.ts";

const refusal = { when: () => sql`true`, code: "state_forbids", detail: () => "detail", past: "Past." } as const;

const defined = (outcome: string) =>
  defineOperation({
    name: "do_nothing",
    wireName: "nothing",
    fields: z.object({}),
    read: () => ({}),
    bind: () => ({}),
    sessionId: () => sql`1`,
    mayBeItself: () => sql`true`,
    refusals: { [outcome]: refusal },
    writes: [],
    answer: () => "",
  });

describe("defining an operation", () => {
  it.each(["accepted", "repeated", "key_reused"])(
    "refuses a refusal called %s, which every operation has",
    (outcome) => {
      expect(() => defined(outcome)).toThrow(`a refusal cannot be called ${outcome}`);
    },
  );

  it("reads an outcome of its own from the batch's last row, and takes no other for one", () => {
    const row = { app_is_good: 1, mine: 1, session_id: null, named: null };
    const operation = defined("closed");
    expect(operation.outcomeOf([[{ ...row, outcome: "closed" }]])).toEqual({
      kind: "refused",
      refused: { ok: false, code: "state_forbids", reason: "closed", detail: "detail" },
    });
    expect(() => operation.outcomeOf([[{ ...row, outcome: "another" }]])).toThrow("do_nothing has no outcome another");
  });

  it("compiles what an operation reads as a SELECT, so that it cannot write", () => {
    const texts: string[] = [];
    const db = { prepare: (text: string) => ({ bind: () => void texts.push(text) }) } as unknown as D1Database;
    const operation = defineOperation({
      name: "do_nothing",
      wireName: "nothing",
      fields: z.object({}),
      read: () => ({}),
      bind: () => ({}),
      sessionId: () => sql`1`,
      mayBeItself: () => sql`true`,
      refusals: {},
      leftOut: () => sql`DELETE FROM sessions RETURNING id`,
      writes: [],
      answer: () => "",
    });
    operation.preview(db, {} as never, { input: {}, bound: {} });
    expect(texts.at(-1)).toBe("SELECT * FROM (DELETE FROM sessions RETURNING id)");
  });
});
