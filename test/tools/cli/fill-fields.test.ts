import { describe, expect, it } from "vitest";
import { fillFields } from "../../../src/tools/cli/fill-fields.ts";
import { UsageError } from "../../../src/tools/cli/known-options.ts";

const STAMP = { appid: "my-shop", timestamp: 1_800_000_000, ranstr: "r1" };

describe("filling in fields", () => {
  it("missing fields are added before the fields of the body", () => {
    expect(fillFields('{"sbs":"a"}', STAMP)).toBe('{"appid":"my-shop","timestamp":1800000000,"ranstr":"r1","sbs":"a"}');
  });

  it("existing fields of the body are kept, however their names are escaped", () => {
    expect(fillFields('{"r\\u0061nstr":"mine","timestamp":1}', STAMP)).toBe(
      '{"appid":"my-shop","r\\u0061nstr":"mine","timestamp":1}',
    );
    const whole = '{"ranstr":"mine","timestamp":null,"appid":""}';
    expect(fillFields(whole, STAMP)).toBe(whole);
  });

  it("a field is added although an inner object has its name", () => {
    expect(JSON.parse(fillFields('{"inner":{"ranstr":"x"}}', STAMP))).toEqual({ ...STAMP, inner: { ranstr: "x" } });
  });

  it.each(["{}", "{ }", " \n{\n}\n"])("the empty body %j gets all missing fields", (empty) => {
    expect(JSON.parse(fillFields(empty, STAMP))).toEqual(STAMP);
  });

  it.each([
    '{"sbs":12345678901234567890}',
    '{"sbs":1.0}',
    '{"sbs":1e3}',
    '{"sbs":-0}',
    '{"sbs":"\\u00e9\\ud83d\\ude00é😀"}',
    '{"sbs" : 1,\n  "content":"a  b"}',
    '{"sbs":1,"sbs":2}',
    '{"__proto__":1}',
  ])("the body %s keeps its form when fields are added", (text) => {
    expect(fillFields(text, STAMP).endsWith(text.slice(1))).toBe(true);
  });

  it.each(["[]", "null", "1", '"{}"', "", "{", "{'sbs':1}", '{"sbs":01}', "{} {}"])(
    "the body %j is refused, because it is not one JSON object",
    (text) => {
      expect(() => fillFields(text, STAMP)).toThrow(UsageError);
    },
  );
});
