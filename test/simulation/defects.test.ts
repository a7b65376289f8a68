import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { DEFECTS } from "./defects.ts";

const ROOT = join(import.meta.dirname, "../..");

describe("the planted defects", () => {
  it("no two planted defects have the same name", () => {
    const names = DEFECTS.map(({ name }) => name);
    expect(names.filter((name, i) => names.indexOf(name) < i)).toEqual([]);
  });

  it.each(DEFECTS)("each text that the defect $name replaces occurs once in its file", ({ edits }) => {
    expect(edits.length).toBeGreaterThan(0);
    for (const { file, find, replace } of edits) {
      expect(readFileSync(join(ROOT, file), "utf8").split(find), file).toHaveLength(2);
      expect(replace).not.toBe(find);
    }
  });
});
