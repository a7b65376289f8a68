import { describe, expect, it } from "vitest";
import { MOST_LISTED_AGENTS, parseAgentList } from "../../../src/operators/services/agent-list.ts";

describe("a list of agents", () => {
  it("a list of agents has one `id, name` per line; blanks, empty lines, tabs and full-width commas are allowed", () => {
    expect(parseAgentList("1, Ana Souza\r\n\n 2 ,Ben the second \n3\tCem\n;;;\n4，林晓雯\n5;Dora")).toEqual({
      agents: [
        { id: 1, name: "Ana Souza", line: 1, text: "1, Ana Souza" },
        { id: 2, name: "Ben the second", line: 3, text: "2 ,Ben the second" },
        { id: 3, name: "Cem", line: 4, text: "3\tCem" },
        { id: 4, name: "林晓雯", line: 6, text: "4，林晓雯" },
        { id: 5, name: "Dora", line: 7, text: "5;Dora" },
      ],
      bad: [],
    });
  });

  it.each([
    ['1,"Okafor, Amara"', "Okafor, Amara"],
    ['"1","Amara ""Ama"" Okafor"', 'Amara "Ama" Okafor'],
    ['"1" ; "Amara"', "Amara"],
    ['1\t" Amara "', "Amara"],
    ['"1"\t"Amara"', "Amara"],
    ['1,Amara "Ama" Okafor', 'Amara "Ama" Okafor'],
  ])("a line in a list of agents may have quotes as CSV has them: %s", (line, name) => {
    expect(parseAgentList(line)).toMatchObject({ agents: [{ id: 1, name }], bad: [] });
  });

  it.each(['1,"Okafor, Amara', '1,"Amara" Okafor', '"1"x,Amara', '"1,Amara', '1,Amara,"support'])(
    "a line in a list of agents is refused when its quotes do not end or text follows them: %s",
    (line) => {
      expect(parseAgentList(line).bad).toEqual([{ line: 1, text: line, problem: "quotes" }]);
    },
  );

  it.each(["1;Bo;;;", "1，Bo, ,", "1\tBo\t\t", "1;Bo,,", '"1","Bo","",""', '1;"Bo"; ;'])(
    "a line in a list of agents may end with empty cells: %s",
    (line) => {
      expect(parseAgentList(line)).toMatchObject({ agents: [{ id: 1, name: "Bo" }], bad: [] });
    },
  );

  it.each(["1,Bo,support", '1,"Bo",support', '"1";"Bo";;"support"', "1,,Bo", "1\tBo\t\tsupport"])(
    "a line in a list of agents is refused when a third cell has text: %s",
    (line) => {
      expect(parseAgentList(line)).toEqual({ agents: [], bad: [{ line: 1, text: line, problem: "more" }] });
    },
  );

  it.each(["1\tLi, Bo; Jr", "1;Li, Bo", "1,Li; Bo"])(
    "a line in a list of agents is split only at its first kind of separator: %s",
    (line) => {
      expect(parseAgentList(line)).toMatchObject({ agents: [{ id: 1, name: line.slice(2) }], bad: [] });
    },
  );

  it.each([
    "id,name",
    "ID;Name",
    "id;name;team",
    "ID\t姓名",
    "\uFEFFid,name",
    '"Agent ID","Name"',
    "kefu_id, name",
    "编号，姓名",
  ])("a list of agents may begin with a line of column names: %j", (header) => {
    expect(parseAgentList(`\n${header}\n7, Ana`)).toMatchObject({ agents: [{ id: 7, line: 3 }], bad: [] });
  });

  it("only the first line of a list of agents may name the columns", () => {
    expect(parseAgentList("x,name\n7,Ana").bad).toMatchObject([{ line: 1, problem: "id" }]);
    expect(parseAgentList("7,Ana\nid,name").bad).toMatchObject([{ line: 2, problem: "id" }]);
  });

  it.each([
    ["Ana", "form"],
    ["x, Ana", "id"],
    ["0, Ana", "id"],
    ["1.5, Ana", "id"],
    ["9007199254740992, Ana", "id"],
    ["1,", "name"],
    [`1, ${"x".repeat(101)}`, "name"],
  ])("a bad line in a list of agents is named: %j", (text, problem) => {
    expect(parseAgentList(`7, Good\n${text}`).bad).toEqual([{ line: 2, text: text.trim(), problem }]);
  });

  it("in a list of agents, the second of two lines with one id is named", () => {
    expect(parseAgentList("1, Ana\n2, Ben\n1, Ana").bad).toEqual([{ line: 3, text: "1, Ana", problem: "repeated" }]);
  });

  it("a list of agents with one agent too many is refused", () => {
    const lines = Array.from({ length: MOST_LISTED_AGENTS + 2 }, (_, i) => `${i + 1}, Agent`);
    expect(parseAgentList(lines.slice(0, -2).join("\n"))).toMatchObject({ bad: [] });
    expect(parseAgentList(lines.join("\n")).bad).toMatchObject([{ line: MOST_LISTED_AGENTS + 1, problem: "too_many" }]);
  });
});
