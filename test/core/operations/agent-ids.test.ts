import { describe, expect, it, vi } from "vitest";
import addAgents from "../../../src/core/operations/add-agents.ts";
import createSession from "../../../src/core/operations/create-session.ts";

const OTHERS = { sbs: "c", ip: "::1", sbs_mc: "n", content: "c", fzr_uid: 1 };
/** The most ids that a body of 64 KiB has room for. */
const MANY = 31_000;
const distinct = Array.from({ length: MANY }, (_, i) => i + 1);

/** An array that counts how often its items are read. */
function countLooks(items: unknown[]) {
  const counts = { list: items, looks: 0 };
  counts.list = new Proxy(items, {
    get(target, key) {
      if (/^\d+$/.test(String(key))) counts.looks += 1;
      return Reflect.get(target, key);
    },
  });
  return counts;
}

const readers = {
  "kefu_id of create_gd": (list: unknown) => createSession.read({ ...OTHERS, kefu_id: list }),
  "kefu_ids of add_kf": (list: unknown) => addAgents.read({ chat_id: 1, kefu_ids: list }),
};

describe.each(Object.entries(readers))("%s", (_, read) => {
  it.each([
    ["the first wrong item", [7, 0, ...Array(MANY).fill("x")], 4],
    ["the first of very many that are wrong", Array(MANY).fill(null), 4],
    ["the 101st agent, beyond which may be anything", [...distinct.slice(0, 101), ...Array(MANY).fill({})], 101],
    ["the 101st agent after copies", [...Array(1_000).fill(1), ...distinct], 1_101],
  ])("the list of agents is read only up to %s", (_name, items, most) => {
    const many = countLooks(items);
    expect(read(many.list)).toMatchObject({ ok: false, violations: [{ field: expect.stringMatching(/^kefu_id/) }] });
    expect(many.looks).toBeGreaterThan(0);
    expect(many.looks).toBeLessThanOrEqual(most);
  });

  it("an agent that is named many times counts once", () => {
    const copies = countLooks(Array(MANY).fill(1));
    expect(read(copies.list)).toMatchObject({ ok: true, value: { bound: { agents: "[1]" } } });
    expect(copies.looks).toBeLessThanOrEqual(MANY);
  });
});

describe("kefu_ids of add_kf as a string", () => {
  it.each([
    ["the first wrong item", `7,0,${"x,".repeat(MANY)}1`, 2],
    ["the 101st agent", distinct.join(","), 101],
  ])("kefu_ids as a string are read only up to %s", (_, text, most) => {
    const look = vi.spyOn(String.prototype, "indexOf");
    const result = addAgents.read({ chat_id: 1, kefu_ids: text });
    const commas = look.mock.calls.filter(([part]) => part === ",").length;
    look.mockRestore();
    expect(result).toMatchObject({ ok: false, violations: [{ field: "kefu_ids" }] });
    expect(commas).toBe(most);
  });

  it("an agent that is named many times in the string kefu_ids counts once", () => {
    const copies = `${"1,".repeat(MANY)}1`;
    expect(addAgents.read({ chat_id: 1, kefu_ids: copies })).toMatchObject({
      ok: true,
      value: { bound: { agents: "[1]" } },
    });
  });
});
