import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { describe, expect, it } from "vitest";
import { DOCUMENTED } from "../../../src/core/operations/index.ts";
import { ADMIN_CALLS, ADMIN_DOCUMENTATION } from "../../../src/operators/admin/calls.ts";

const ROOT = join(import.meta.dirname, "../../..");
const TESTS = join(ROOT, "test/operators");
const FOLDER = join(ROOT, "src/operators/admin");

/** The modules of calls. Shared modules have no default export. */
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

/** The lines of the tests of operators that begin a test or a group of tests, with their titles. */
const TITLES = readdirSync(TESTS, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".test.ts"))
  .flatMap((file) => readFileSync(join(TESTS, file), "utf8").match(/^ *(?:describe|it)\b.*/gm) ?? []);

/** The sentences in a value of any depth. Short texts may be ids or patterns. */
function sentencesIn(value: unknown): string[] {
  if (typeof value === "string") return value.length > 30 && /\w \w/.test(value) ? [value] : [];
  // A schema belongs to the call, not to its documentation.
  if (typeof value !== "object" || value === null || "_zod" in value) return [];
  return Object.values(value).flatMap(sentencesIn);
}

describe("a call of the admin API", () => {
  it.each(CALLS)(
    "a call of the admin API is in both lists of src/operators/admin/calls.ts: $file",
    ({ default: call, documentation }) => {
      const declaration = ADMIN_CALLS.find((each) => each === call);
      expect(declaration).toBeDefined();
      expect(declaration && ADMIN_DOCUMENTATION[declaration.id]).toBe(documentation);
    },
  );

  it("each call of the admin API stands in the title of a test, as METHOD /admin/path", () => {
    const titles = TITLES.join("\n");
    const calls = ADMIN_CALLS.map(({ method, path }) => `${method.toUpperCase()} /admin${path}`);
    const untested = calls.filter((call) => !new RegExp(`${RegExp.escape(call)}(?![\\w/])`).test(titles));
    expect(untested).toEqual([]);
  });

  it("each call of the admin API is listed once", () => {
    expect(ADMIN_CALLS).toHaveLength(CALLS.length);
  });

  it("the Worker's bundle does not contain the documentation of the admin calls", async () => {
    const { outputFiles } = await build({
      entryPoints: [join(ROOT, "src/index.ts")],
      bundle: true,
      write: false,
      // Without comments, which may repeat the documentation.
      minifyWhitespace: true,
      format: "esm",
      target: "es2024",
      conditions: ["workerd", "worker", "browser"],
      external: ["node:*", "cloudflare:*"],
    });
    const bundle = outputFiles[0]?.text ?? "";
    const documentation = [
      ...ADMIN_CALLS.map(({ id }) => ADMIN_DOCUMENTATION[id]()),
      ...DOCUMENTED.map((each) => each.documentation),
    ];
    const sentences = new Set(documentation.flatMap(sentencesIn));
    expect(sentences.size).toBeGreaterThan(250);
    expect(bundle).toContain("/sites/:site_id/webhooks");
    expect([...sentences].filter((sentence) => bundle.includes(sentence))).toEqual([]);
  });
});
