import { describe, expect, it } from "vitest";
import { MOST_LISTED_AGENTS, parseAgentList } from "../../src/services/agent-list.ts";

describe("a list of agents", () => {
  it("has one `id, name` per line, ignores blanks and empty lines, and accepts a tab or a full-width comma too", () => {
    expect(parseAgentList("1, Ana Souza\r\n\n 2 ,Ben, the second \n3\tCem\n4，林晓雯")).toEqual({
      agents: [
        { id: 1, name: "Ana Souza", line: 1 },
        { id: 2, name: "Ben, the second", line: 3 },
        { id: 3, name: "Cem", line: 4 },
        { id: 4, name: "林晓雯", line: 5 },
      ],
      bad: [],
    });
  });

  it.each([
    ["Ana", "form"],
    ["x, Ana", "id"],
    ["0, Ana", "id"],
    ["1.5, Ana", "id"],
    ["9007199254740992, Ana", "id"],
    ["1,", "name"],
    [`1, ${"x".repeat(101)}`, "name"],
  ])("names a bad line: %j", (text, problem) => {
    expect(parseAgentList(`7, Good\n${text}`).bad).toEqual([{ line: 2, text: text.trim(), problem }]);
  });

  it("names the second of two lines with one id", () => {
    expect(parseAgentList("1, Ana\n2, Ben\n1, Ana").bad).toEqual([{ line: 3, text: "1, Ana", problem: "repeated" }]);
  });

  it("ends at its limit", () => {
    const lines = Array.from({ length: MOST_LISTED_AGENTS + 2 }, (_, i) => `${i + 1}, Agent`);
    expect(parseAgentList(lines.slice(0, -2).join("\n"))).toMatchObject({ bad: [] });
    expect(parseAgentList(lines.join("\n")).bad).toMatchObject([{ line: MOST_LISTED_AGENTS + 1, problem: "too_many" }]);
  });
});
