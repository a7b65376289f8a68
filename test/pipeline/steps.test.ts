import { describe, expect, it } from "vitest";

const MODULES = import.meta.glob("../../src/pipeline/*.ts", { eager: true } as never) as unknown as Record<
  string,
  Record<string, unknown>
>;
const SOURCES = import.meta.glob("../../src/pipeline/*.ts", {
  query: "?raw",
  import: "default",
  eager: true,
}) as Record<string, string>;

const stepsOf = (kind: string) =>
  Object.values(MODULES)
    .flatMap((module) => Object.values(module))
    .map((value) => value as { name: string; kind?: string })
    .filter((value) => value?.kind === kind)
    .map(({ name }) => name);

const sourceOf = (name: string) => SOURCES[`../../src/pipeline/${name}.ts`] ?? "";

describe("the steps of a signed request", () => {
  it("say each what kind they are", () => {
    expect(stepsOf("pure")).toEqual(
      expect.arrayContaining(["readFields", "readStamp", "readIdempotencyKey", "claimOf"]),
    );
    expect(stepsOf("writes")).toEqual(
      expect.arrayContaining(["verifyCaller", "confirmCaller", "verifyAtHome", "checkReplay", "decide"]),
    );
  });

  it("are all taken by the run of a request, those that write too", () => {
    for (const step of ["readFields", "verifyCaller", "readStamp", "checkReplay", "readIdempotencyKey", "decide"]) {
      expect(sourceOf("run-request")).toContain(`${step}(`);
    }
  });

  it("that write are not even imported by the check of a request", () => {
    const imports =
      sourceOf("check-request")
        .match(/^import .*$/gm)
        ?.join("\n") ?? "";
    expect(imports).toContain("readStamp");
    for (const step of stepsOf("writes")) expect(imports).not.toContain(step);
  });
});
