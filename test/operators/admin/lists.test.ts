import { readdirSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { describe, expect, it } from "vitest";
import { DOCUMENTED } from "../../../src/core/operations/index.ts";
import { ADMIN_CALLS, ADMIN_DOCUMENTATION } from "../../../src/operators/admin/calls.ts";

const ROOT = join(import.meta.dirname, "../../..");
const FOLDER = join(ROOT, "src/operators/admin");

/** The files of the folders of entities that have a call. Those that calls share have no default export. */
const CALLS = (
  await Promise.all(
    readdirSync(FOLDER, { recursive: true, encoding: "utf8" })
      .filter((file) => /\/[\w-]+\.ts$/.test(file))
      .map(async (file) => ({
        file,
        ...((await import(join(FOLDER, file))) as Partial<{ default: unknown; documentation: unknown }>),
      })),
  )
).filter((module) => module.default !== undefined);

/** The long texts with blanks in a value of any depth: ids and patterns may stand elsewhere too. */
function sentencesIn(value: unknown): string[] {
  if (typeof value === "string") return value.length > 30 && /\w \w/.test(value) ? [value] : [];
  // A schema is the call's, and no word of its documentation.
  if (typeof value !== "object" || value === null || "_zod" in value) return [];
  return Object.values(value).flatMap(sentencesIn);
}

describe("a call of the admin API", () => {
  it.each(CALLS)("is in both lists of src/operators/admin/calls.ts: $file", ({ default: call, documentation }) => {
    const listed = ADMIN_CALLS.find((each) => each === call);
    expect(listed).toBeDefined();
    expect(listed && ADMIN_DOCUMENTATION[listed.id]).toBe(documentation);
  });

  it("is listed once", () => {
    expect(ADMIN_CALLS).toHaveLength(CALLS.length);
  });

  it("keeps its words out of the Worker's bundle, as an operation does", async () => {
    const { outputFiles } = await build({
      entryPoints: [join(ROOT, "src/index.ts")],
      bundle: true,
      write: false,
      // Without comments: they may say the same.
      minifyWhitespace: true,
      format: "esm",
      target: "es2024",
      conditions: ["workerd", "worker", "browser"],
      external: ["node:*", "cloudflare:*"],
    });
    const bundle = outputFiles[0]?.text ?? "";
    const documented = [
      ...ADMIN_CALLS.map(({ id }) => ADMIN_DOCUMENTATION[id]()),
      ...DOCUMENTED.map((each) => each.documentation),
    ];
    const sentences = new Set(documented.flatMap(sentencesIn));
    expect(sentences.size).toBeGreaterThan(250);
    expect(bundle).toContain("/sites/:site_id/webhooks");
    expect([...sentences].filter((sentence) => bundle.includes(sentence))).toEqual([]);
  });
});
