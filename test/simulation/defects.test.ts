import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { DEFECTS } from "./defects.ts";

const ROOT = join(import.meta.dirname, "../..");

describe("the planted defects", () => {
  it("have names of their own", () => {
    const names = DEFECTS.map(({ name }) => name);
    expect(names.filter((name, i) => names.indexOf(name) < i)).toEqual([]);
  });

  it.each(DEFECTS)("$name fits the code: each text that it replaces stands there once", ({ edits }) => {
    expect(edits.length).toBeGreaterThan(0);
    for (const { file, find, replace } of edits) {
      expect(readFileSync(join(ROOT, file), "utf8").split(find), file).toHaveLength(2);
      expect(replace).not.toBe(find);
    }
  });
});
