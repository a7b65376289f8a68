import { describe, expect, it } from "vitest";
import { OPERATIONS } from "../../../src/operations/index.ts";
import { hasRun } from "./covered.ts";
import { NEVER, WHOLE_TEST } from "./exceptions.ts";
import { missingIn, namesThatHappen } from "./gate.ts";
import { countedIn, PUT_TOGETHER, readWorld } from "./names.ts";
import { operationNames } from "./operations.ts";
import { notAsked, notSeen } from "./report.ts";
import { readRules, rulesOf } from "./rules.ts";
import { sourceOf } from "./source.ts";

const RULES = new Set(readRules().map(({ rule }) => rule));

const NAMES = namesThatHappen();

describe("the gate of operations", () => {
  const made = [{ wireName: "close_gd", refusals: { session_not_found: {}, closed_before: {} } }];
  const all = {
    "close_gd accepted": 3,
    "close_gd repeated": 1,
    "close_gd refused: session_not_found": 2,
    "close_gd refused: closed_before": 1,
    "close_gd refused: key_reused": 7,
  };

  it("is content when each was accepted, repeated, and refused by each of its rules", () => {
    expect(notSeen({ seen: all }, operationNames(made))).toEqual([]);
  });

  it.each(Object.keys(all))("names %s when it never happened", (name) => {
    expect(notSeen({ seen: { ...all, [name]: 0 } }, operationNames(made))).toEqual([name]);
    const { [name as keyof typeof all]: _, ...rest } = all;
    expect(notSeen({ seen: rest }, operationNames(made))).toEqual([name]);
  });

  it("takes its operations from the code", () => {
    for (const { wireName, refusals } of OPERATIONS) {
      for (const refusal of Object.keys(refusals)) expect(NAMES).toContain(`${wireName} refused: ${refusal}`);
    }
  });
});

describe("the gate of the world", () => {
  it("knows which names each text may come to that the world counts", () => {
    expect(countedIn(readWorld()).putTogether.toSorted()).toEqual(Object.keys(PUT_TOGETHER).toSorted());
  });

  it("finds names where they are counted", () => {
    const text =
      'world.count(a ? "one" : `two`); witness.note(call, "not this", isLost ? "three" : undefined); f("four");';
    expect(countedIn([sourceOf("world/made-up.ts", text)])).toEqual({
      names: ["one", "two", "three"],
      putTogether: [],
    });
    const another = sourceOf("world/made-up.ts", "world.count(`act: ${act}`);");
    expect(countedIn([another])).toEqual({ names: [], putTogether: ["`act: ${act}`"] });
  });

  it("asks for acts, attacks, faults and hands", () => {
    const names = ["operator: renameAgent", "attack: tenant", "D1: request lost in silence", "app moved by hand"];
    expect(NAMES).toEqual(expect.arrayContaining(names));
  });
});

describe("the gate of rules", () => {
  /** The texts that begin at the places where a file's rule is asked. */
  const askedIn = (text: string) =>
    rulesOf([sourceOf("checker/made-up.ts", text)]).map(({ rule, offset }) => [
      rule,
      text.slice(offset).split(/[);]/)[0],
    ]);

  it.each([
    ['if (a && b) violate("r", what);', "b"],
    ['if (a || !b) this.#violate("r", what);', "a || !b"],
    ['function look() { if (a) return; if (b || c) return; violate("r", what); }', "c"],
    ["const rule = 'r'; if (a) violate(rule, what);", "a"],
    ['const isWrong = a && b; if (isWrong) violate("r", what);', "b"],
    ['const wrong = a ? find(b) : undefined; if (wrong !== undefined) violate("r", what);', "find(b"],
    [
      'const wrong = all.find((each) => each.a && each.b); if (wrong !== undefined) violate("r", what);',
      "each.a && each.b",
    ],
    ['class A { #broken() { violate("r", what); } look() { if (a) this.#broken(); } }', "a"],
    ['const broken = (rule: string) => violate(rule, what); if (a) broken("r");', "a"],
    ['function wrong(): Broken { return a ? ["r", what] : undefined; }', 'a ? ["r", what] : undefined'],
    ['function wrong(): [rule: string, what: string] | undefined { if (a) return ["r", what]; }', "a"],
    ['if (a) this.#report(call, "at home", ["r", what]);', "a"],
    ['for (const { rule } of [{ rule: "r" }]) { if (a) violate(rule, what); }', "a"],
    ['const RULES = { one: "r" }; if (a) violate(RULES[kind], what); push({ kind: "one" });', '"one" }'],
    ['const RULES = { one: "r" }; if (a) violate(RULES[kind], what); switch (kind) { case "one": look(); }', "look("],
  ])("finds where a rule is asked in %s", (text, question) => {
    expect(askedIn(text)).toContainEqual(["r", question]);
  });

  it("finds both rules of a choice", () => {
    expect(askedIn('if (a) violate(b ? "one" : "two", what);').map(([rule]) => rule)).toEqual(["one", "two"]);
  });

  it("takes no other pair for a rule", () => {
    expect(askedIn('function shown(): string[] { return ["r", what]; } set(["r", what]);')).toEqual([]);
  });

  it("refuses words that it cannot follow", () => {
    expect(() => askedIn("\nviolate(`${a} holds`, what);")).toThrow("made-up.ts:2: which rule is `${a} holds`?");
  });

  it("finds the rules of each part of the checker", () => {
    expect([...RULES]).toEqual(
      expect.arrayContaining([
        "each ranstr has at most one effect",
        "a read writes nothing",
        "a delivery has at most 8 attempts",
        "no seq is given twice",
        "the client corrects its clock",
      ]),
    );
  });

  it("takes what the smallest range around a place says", () => {
    const ranges = [
      { startOffset: 0, endOffset: 100, count: 1 },
      { startOffset: 10, endOffset: 50, count: 0 },
      { startOffset: 20, endOffset: 30, count: 2 },
    ];
    expect([5, 10, 25, 30, 50, 100].map((offset) => hasRun(ranges, offset))).toEqual([
      true,
      false,
      true,
      false,
      true,
      false,
    ]);
  });
});

describe("the gate", () => {
  const seen = Object.fromEntries(NAMES.map((name) => [name, 1]));

  it("names what did not happen and what was not asked, but what no seed is sure to show", () => {
    const rules = { "one holds": true, "two holds": false, "three holds": false };
    const report = { seen: { ...seen, "attack: tenant": 0, "queue: message dropped": 0 }, rules };
    expect(notAsked(report)).toEqual(["two holds", "three holds"]);
    expect(missingIn(report)).toEqual(["attack: tenant", "two holds", "three holds"]);
  });

  it("makes exceptions only of what there is", () => {
    const names = new Set([...Object.keys(seen), ...RULES]);
    expect(Object.keys(NEVER).filter((name) => !names.has(name))).toEqual([]);
    expect(Object.keys(WHOLE_TEST).filter((name) => !RULES.has(name))).toEqual([]);
  });
});
