import { cpSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { faultsOf } from "../../src/cli/operation-files.ts";
import { OPERATIONS as OF_CLIENT } from "../../src/client/operations.ts";
import addAgents, { documentation } from "../../src/operations/add-agents.ts";
import { OPERATIONS } from "../../src/operations/index.ts";
import { run, runCli } from "../support/run-cli.ts";

const ROOT = join(import.meta.dirname, "../..");
const LISTS = ["src/operations/index.ts", "src/client/operations.ts"];

/** A copy of what the operations are made of. */
let copy: string;
const inCopy = (path: string) => join(copy, path);
const read = (path: string) => readFileSync(inCopy(path), "utf8");
const generate = (args: string[] = [], env: Record<string, string> = {}) =>
  run(process.execPath, [inCopy("src/cli/generate.ts"), ...args], { env: { CI: "", ...env } });

/** Another operation, made of add-agents.ts. */
function addOperation(file: string, change: (source: string) => string = (source) => source): void {
  const renamed = read("src/operations/add-agents.ts")
    .replace('name: "add_agents"', 'name: "tag_session"')
    .replace('wireName: "add_kf"', 'wireName: "zz_gd"')
    .replace('  section: "4.2",\n', "");
  writeFileSync(inCopy(`src/operations/${file}`), change(renamed));
}

beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), "generate-test-"));
  symlinkSync(join(ROOT, "node_modules"), inCopy("node_modules"));
  cpSync(join(ROOT, "package.json"), inCopy("package.json"));
});
afterAll(() => rmSync(copy, { recursive: true }));
beforeEach(() => {
  rmSync(inCopy("src"), { recursive: true, force: true });
  cpSync(join(ROOT, "src"), inCopy("src"), { recursive: true, filter: (path) => !path.includes("src/assets") });
});

describe("npm run generate", () => {
  it("finds what is committed as it should be", async () => {
    expect(await runCli("generate", ["--check"])).toEqual({ exitCode: 0, stdout: "", stderr: "" });
    expect(Object.values(OF_CLIENT).map(({ path, fields }) => [path, fields])).toEqual(
      OPERATIONS.map(({ path, fieldNames }) => [path, fieldNames]),
    );
  });

  it("writes both lists anew when they are gone, and nothing when they are there", async () => {
    const before = LISTS.map(read);
    for (const list of LISTS) rmSync(inCopy(list));
    expect((await generate()).exitCode).toBe(0);
    expect(LISTS.map(read)).toEqual(before);
    const times = () => LISTS.map((list) => statSync(inCopy(list)).mtimeMs);
    const written = times();
    expect(await generate()).toEqual({ exitCode: 0, stdout: "", stderr: "" });
    expect(times()).toEqual(written);
  });

  it("takes a new file along, after those of the contract, although the list it makes names a file that is gone", async () => {
    addOperation("tag-session.ts");
    writeFileSync(inCopy(LISTS[0] ?? ""), 'import gone from "./gone.ts";\nexport const OPERATIONS = [gone];\n');
    expect((await generate()).stderr).toBe("");
    expect(read("src/operations/index.ts")).toMatch(/ = \[createSession, addAgents, (\w+, )*tagSession\];/);
    expect(read("src/operations/index.ts")).toContain("documentation: tagSessionDocumentation },\n];");
    expect(read("src/client/operations.ts")).toMatch(/create_gd: \{.*add_kf: \{.*zz_gd: \{\n {4}path: "[^"]+zz_gd"/s);
  });

  it.each([
    ["--check", ["--check"], {}],
    ["CI", [], { CI: "true" }],
  ])("with %s writes nothing, and fails where something would be written", async (_, args, env) => {
    expect((await generate(args, env)).exitCode).toBe(0);
    const before = LISTS.map(read);
    addOperation("tag-session.ts");
    const { exitCode, stderr } = await generate(args, env);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`${LISTS.join(" and ")}. Run \`npm run generate\``);
    expect(LISTS.map(read)).toEqual(before);
  });

  it.each<[string, (source: string) => string, string]>([
    [
      "has the wire name of another",
      (source) => source.replace("zz_gd", "add_kf"),
      "add-agents.ts and tag-session.ts have the same wireName: add_kf",
    ],
    [
      "has the name of another",
      (source) => source.replace("tag_session", "add_agents"),
      "add-agents.ts and tag-session.ts have the same name: add_agents",
    ],
    [
      "has no documentation",
      (source) => source.replace("export const documentation", "const documentation"),
      "tag-session.ts: has no export `documentation`",
    ],
    [
      "has documentation alone",
      () => "export const documentation = {};\n",
      "tag-session.ts: its default export is not made by defineOperation",
    ],
    ["cannot be loaded", () => "export default nothing;\n", "tag-session.ts: nothing is not defined"],
  ])("refuses a file that %s, and writes nothing", async (_, change, fault) => {
    const before = LISTS.map(read);
    addOperation("tag-session.ts", change);
    expect(await generate()).toEqual({ exitCode: 1, stdout: "", stderr: `${fault}\n` });
    expect(LISTS.map(read)).toEqual(before);
  });

  it("exits 2 for an option that it does not know", async () => {
    const { exitCode, stderr } = await generate(["--cheque"]);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining("--cheque")]);
  });
});

describe("the documentation of an operation", () => {
  it("is complete", () => {
    expect(faultsOf({ operation: addAgents, documentation })).toEqual([]);
  });

  it("has words for every field and every refusal, and for nothing else", () => {
    const fields = { ...documentation.fields, chat_id: {}, tag: { description: "None." } };
    const words = { cause: "None.", cure: "None." };
    const refusals = { ...documentation.refusals, not_a_ticket: { ...words, cure: "" }, gone: words };
    const examples = { listed: { summary: "Listed", fields: { tag: 1 } } };
    expect(faultsOf({ operation: addAgents, documentation: { ...documentation, fields, refusals, examples } })).toEqual(
      [
        "documentation.fields has no description of chat_id",
        "documentation.fields has tag, which is not a field",
        "documentation.refusals has no cause or no cure of not_a_ticket",
        "documentation.refusals has gone, which is not a refusal",
        "documentation.examples.listed has tag, which is not a field",
      ],
    );
    expect(faultsOf({ operation: addAgents, documentation: { ...documentation, examples: {} } })).toEqual([
      "documentation.examples is empty",
    ]);
  });

  it("belongs to an operation with names of lower-case letters, digits and _", () => {
    const fault = (wireName: string) => faultsOf({ operation: { ...addAgents, wireName }, documentation });
    for (const name of ["Close_gd", "close-gd", "_gd", "1gd", "gd/x", ""]) expect(fault(name)).toHaveLength(1);
    expect(fault("close_gd2")).toEqual([]);
  });
});
