import { describe, expect, it } from "vitest";
import { hasRun } from "./covered.ts";
import { missingIn, NEVER, operationNames, unaskedRules, unseenNames } from "./gate.ts";
import { countedIn, PUT_TOGETHER, readWorld, worldNames } from "./names.ts";
import { readRules, rulesOf } from "./rules.ts";
import { sourceOf } from "./source.ts";

const RULES = new Set(readRules().map(({ rule }) => rule));
const NAMES = [...operationNames(), ...worldNames()];

describe("the gate of names", () => {
  it("the gate requires that each operation is accepted, repeated, and refused by each of its rules", () => {
    const operations = [{ wireName: "close_gd", refusals: { closed_before: {} } }];
    const all = ["accepted", "repeated", "refused: closed_before", "refused: key_reused"].map(
      (how) => `close_gd ${how}`,
    );
    expect(operationNames(operations)).toEqual(all);
    const seen = { [`${all[0]}`]: 3, [`${all[1]}`]: 1, [`${all[2]}`]: 0 };
    expect(unseenNames({ seen }, all)).toEqual(all.slice(2));
  });

  it("PUT_TOGETHER lists each computed text that the world counts", () => {
    expect(countedIn(readWorld()).putTogether.toSorted()).toEqual(Object.keys(PUT_TOGETHER).toSorted());
  });

  it("the gate reads the counted names from the calls of count() and note() in the source", () => {
    const text =
      'world.count(a ? "one" : `two`); witness.note(call, "not this", isLost ? "three" : undefined); f("four");';
    expect(countedIn([sourceOf("world/made-up.ts", text)])).toEqual({
      names: ["one", "two", "three"],
      putTogether: [],
    });
    const another = sourceOf("world/made-up.ts", "world.count(`act: ${act}`);");
    expect(countedIn([another])).toEqual({ names: [], putTogether: ["`act: ${act}`"] });
  });

  it("the gate requires acts, attacks, faults, and changes by hand at the database", () => {
    const names = ["operator: closeSite", "attack: floods", "D1: request lost in silence", "customer erased by hand"];
    expect(NAMES).toEqual(expect.arrayContaining(names));
  });
});

describe("the gate of rules", () => {
  /** The rules of a file, each with the offset that is counted. */
  const askedIn = (text: string) =>
    rulesOf([sourceOf("made-up/rules/made-up.ts", text)]).map(({ rule, offset }) => [rule, offset]);

  it.each([
    'if (a && b¦) violate("r", what);',
    'if (a) { look(); } else if (b¦) this.#violate("r", what);',
    'function look() { if (a) return; if (b || c¦) { return; } violate("r", what); }',
    'function look() { if (a) return; if (b¦ && c) return; violate("r", what); }',
    'class A { #broken() { violate("r", what); } look() { if (a¦) this.#broken(); } }',
    'const broken = (rule: string) => violate(rule, what); if (a¦) broken("r");',
    "const rule = 'r'; if (a¦) violate(rule, what);",
    'function wrong(): BrokenRule { return a¦ ? ["r", what] : undefined; }',
    'function wrong(): [rule: string, what: string] | undefined { if (a¦) return ["r", what]; }',
    'if (a¦) this.#report(call, "at home", ["r", what]);',
    'for (const { rule } of [{ rule: "r" }]) { if (a¦) violate(rule, what); }',
    'const RULES = { one: "r" }; if (a) violate(RULES[kind], what); push({ kind: "¦one" });',
  ])("the gate counts a rule at the place that the mark ¦ shows in %s", (code) => {
    expect(askedIn(code.replace("¦", ""))).toContainEqual(["r", code.indexOf("¦") - 1]);
  });

  it("the gate finds both rules of a conditional expression, and takes no other pair of texts for a rule", () => {
    expect(askedIn('if (a) violate(b ? "one" : "two", what);').map(([rule]) => rule)).toEqual(["one", "two"]);
    expect(askedIn('function shown(): string[] { return ["r", what]; } set(["r", what]);')).toEqual([]);
  });

  it("the gate throws for a rule whose text is put together at run time", () => {
    expect(() => askedIn("\nviolate(`${a} holds`, what);")).toThrow("made-up.ts:2: which rule is `${a} holds`?");
  });

  it("the gate finds the rules of each part of the checker", () => {
    const rules = ["each ranstr has at most one effect", "no seq is given twice"];
    expect([...RULES]).toEqual(expect.arrayContaining([...rules, "a second try writes nothing"]));
  });

  it("a place in the code has the count of the smallest range around it", () => {
    const range = (startOffset: number, endOffset: number, count: number) => ({ startOffset, endOffset, count });
    const ranges = [range(0, 100, 1), range(10, 50, 0), range(20, 30, 2)];
    expect([5, 25, 50].map((offset) => hasRun(ranges, offset))).toEqual([true, true, true]);
    expect([10, 30, 100].map((offset) => hasRun(ranges, offset))).toEqual([false, false, false]);
  });
});

describe("the gate", () => {
  it("the gate names each missing event and each rule that was not asked, except those in NEVER", () => {
    const seen = Object.fromEntries(NAMES.map((name) => [name, 1]));
    const rules = { "one holds": true, "two holds": false };
    const report = { seen: { ...seen, "attack: floods": 0, "queue: message dropped": 0 }, rules };
    expect(unaskedRules(report)).toEqual(["two holds"]);
    expect(missingIn(report)).toEqual(["attack: floods", "two holds"]);
  });

  it("NEVER holds only names and rules that exist", () => {
    expect(Object.keys(NEVER).filter((name) => !NAMES.includes(name) && !RULES.has(name))).toEqual([]);
  });
});
