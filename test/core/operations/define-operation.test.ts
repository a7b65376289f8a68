import { env } from "cloudflare:workers";
import { sql } from "drizzle-orm";
import { describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { defineOperation } from "../../../src/core/operations/define-operation.ts";

const FAULT = { field: "thing", rule: "required" } as const;
const refusal = { when: () => sql`true`, code: "state_forbids", violation: () => FAULT, past: "Past." } as const;

const define = (outcome: string, change: Partial<Parameters<typeof defineOperation>[0]> = {}) =>
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
    event: { type: "nothing.done", data: () => ({}) },
    answer: () => "",
    ...change,
  });

/** Collects the text and the bound values of each statement. */
function recordingDb() {
  const statements: { text: string; values: unknown[] }[] = [];
  const prepare = (text: string) => ({ bind: (...values: unknown[]) => void statements.push({ text, values }) });
  return { statements, db: { prepare } as unknown as D1Database };
}

describe("defining an operation", () => {
  it.each(["accepted", "repeated", "key_reused"])(
    "an operation cannot have a refusal with the name %s, because every operation has that outcome",
    (outcome) => {
      expect(() => define(outcome)).toThrow(`a refusal cannot be called ${outcome}`);
    },
  );

  it("an operation reads its own outcome from its row of the batch, and accepts no unknown outcome", () => {
    const row = { gate: "open" as const, mine: 1, session_id: null, named: null };
    const answerWith = (outcome: string) => ({ leftOut: undefined, deliveries: [], outcome: [{ ...row, outcome }] });
    const operation = define("closed");
    expect(operation.outcomeOf(answerWith("closed"))).toEqual({
      kind: "refused",
      refused: { ok: false, code: "state_forbids", reason: "closed", violations: [FAULT] },
    });
    expect(() => operation.outcomeOf(answerWith("another"))).toThrow("do_nothing has no outcome another");
  });

  it("no operation can replace a value of the claim", () => {
    const { statements, db } = recordingDb();
    const operation = define("closed", { bind: () => ({ owner: "forged", siteId: 2 }) });
    const operationInput = operation.read({});
    if (!operationInput.ok) throw new Error(operationInput.reason);
    operation.batch(db, { owner: "own", siteId: 1, key: null } as never, operationInput.value, 1);
    const boundValues = statements.flatMap(({ values }) => values);
    expect(boundValues).toContain("own");
    for (const forged of ["forged", 2]) expect(boundValues).not.toContain(forged);
  });

  it("an operation's reads are compiled into a SELECT, so that D1 refuses a statement that writes", async () => {
    const { statements, db } = recordingDb();
    const operation = define("closed", { leftOut: () => sql`DELETE FROM sessions RETURNING id` });
    operation.preview(db, {} as never, { input: {}, bound: {} });
    const text = String(statements.at(-1)?.text);
    expect(text).toContain("DELETE FROM sessions");
    await expect(env.DB.prepare(text).all()).rejects.toThrow("syntax error");
  });
});
