import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { faultsOf, readOperations } from "../../src/cli/operation-files.ts";
import { OPERATIONS as OF_CLIENT } from "../../src/client/operations.ts";
import addAgents, { documentation } from "../../src/operations/add-agents.ts";
import { OPERATIONS } from "../../src/operations/index.ts";
import { run, runCli } from "../support/run-cli.ts";

const ROOT = join(import.meta.dirname, "../..");
const LISTS = ["src/operations/index.ts", "src/client/operations.ts"];

/** Folders like this repository, to generate in. */
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "generate-test-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const generateIn = (root: string, args: string[] = [], env: Record<string, string> = {}) =>
  run(process.execPath, [join(root, "src/cli/generate.ts"), ...args], { env: { CI: "", ...env } });
const listsIn = (root: string) => LISTS.map((path) => readFileSync(join(root, path), "utf8"));

describe("npm run generate", () => {
  it("finds what is committed as it should be", async () => {
    expect(await runCli("generate", ["--check"])).toEqual({ exitCode: 0, stdout: "", stderr: "" });
    expect(Object.values(OF_CLIENT).map(({ path, fields }) => [path, fields])).toEqual(
      OPERATIONS.map(({ path, fieldNames }) => [path, fieldNames]),
    );
  });

  it("takes a new file along, after those of the contract, although one list names a file that is gone and the other is gone", async () => {
    const copy = join(folder, "copy");
    cpSync(join(ROOT, "src"), join(copy, "src"), { recursive: true, filter: (path) => !path.includes("src/assets") });
    cpSync(join(ROOT, "package.json"), join(copy, "package.json"));
    symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
    const throwAwaySession = readFileSync(join(copy, "src/operations/add-agents.ts"), "utf8")
      .replace('name: "add_agents"', 'name: "throw_away_session"')
      .replace('wireName: "add_kf"', 'wireName: "zz_throw_away_gd"')
      .replace('  section: "4.2",\n', "");
    writeFileSync(join(copy, "src/operations/throw-away-session.ts"), throwAwaySession);
    const [list = "", clientList = ""] = LISTS.map((path) => join(copy, path));
    writeFileSync(list, 'import gone from "./gone.ts";\nexport const OPERATIONS = [gone];\n');
    rmSync(clientList);

    expect(await generateIn(copy)).toMatchObject({ exitCode: 0, stderr: "" });
    const [written, writtenForClient] = listsIn(copy);
    expect(written).toMatch(/ = \[createSession, addAgents, (\w+, )*throwAwaySession\];/);
    expect(written).toContain("documentation: throwAwaySessionDocumentation },\n];");
    expect(writtenForClient).toMatch(
      /create_gd: \{.*add_kf: \{.*zz_throw_away_gd: \{\n {4}path: "[^"]+zz_throw_away_gd"/s,
    );
  });

  describe("in a folder whose operations load at once", () => {
    let small: string;
    const write = (path: string, text: string) => writeFileSync(join(small, path), text);
    beforeEach(async () => {
      small = mkdtempSync(join(folder, "small-"));
      for (const path of ["src/operations", "src/client"]) mkdirSync(join(small, path), { recursive: true });
      cpSync(join(ROOT, "src/cli"), join(small, "src/cli"), { recursive: true });
      write("package.json", '{ "type": "module" }');
      write("src/operations/cast-off-session.ts", operation("cast_off_session", "cast_off_gd"));
      expect(await generateIn(small)).toMatchObject({ exitCode: 0, stderr: "" });
    });

    it("writes both lists anew when they are gone, and nothing when they are there", async () => {
      const before = listsIn(small);
      expect(before.map((list) => list.includes("cast_off_gd") || list.includes("castOffSession"))).toEqual([
        true,
        true,
      ]);
      for (const list of LISTS) rmSync(join(small, list));
      expect((await generateIn(small)).exitCode).toBe(0);
      expect(listsIn(small)).toEqual(before);
      const times = () => LISTS.map((list) => statSync(join(small, list)).mtimeMs);
      const written = times();
      expect(await generateIn(small)).toEqual({ exitCode: 0, stdout: "", stderr: "" });
      expect(times()).toEqual(written);
    });

    it.each([
      ["--check", ["--check"], {}],
      ["CI", [], { CI: "true" }],
    ])("with %s writes nothing, and fails where something would be written", async (_, args, env) => {
      expect((await generateIn(small, args, env)).exitCode).toBe(0);
      const before = listsIn(small);
      write("src/operations/throw-away-session.ts", operation("throw_away_session", "throw_away_gd"));
      const { exitCode, stderr } = await generateIn(small, args, env);
      expect(exitCode).toBe(1);
      expect(stderr).toContain(`${LISTS.join(" and ")}. Run \`npm run generate\``);
      expect(listsIn(small)).toEqual(before);
    });

    it("exits 1 for a file that it refuses, says why, and writes nothing", async () => {
      const before = listsIn(small);
      write("src/operations/throw-away-session.ts", operation("throw_away_session", "cast_off_gd"));
      const fault = "cast-off-session.ts and throw-away-session.ts have the same wireName: cast_off_gd\n";
      expect(await generateIn(small)).toEqual({ exitCode: 1, stdout: "", stderr: fault });
      expect(listsIn(small)).toEqual(before);
    });

    it("exits 2 for an option that it does not know", async () => {
      const { exitCode, stderr } = await generateIn(small, ["--cheque"]);
      expect([exitCode, stderr]).toEqual([2, expect.stringContaining("--cheque")]);
    });
  });
});

describe("the files of operations", () => {
  const throwAwaySession = operation("throw_away_session", "throw_away_gd");

  it.each<[string, string, string]>([
    [
      "has the wire name of another",
      operation("throw_away_session", "cast_off_gd"),
      "cast-off-session.ts and throw-away-session.ts have the same wireName: cast_off_gd",
    ],
    [
      "has the name of another",
      operation("cast_off_session", "throw_away_gd"),
      "cast-off-session.ts and throw-away-session.ts have the same name: cast_off_session",
    ],
    [
      "has no documentation",
      throwAwaySession.replace("export const documentation", "const documentation"),
      "throw-away-session.ts: has no export `documentation`",
    ],
    [
      "has documentation alone",
      "export const documentation = {};\n",
      "throw-away-session.ts: its default export is not made by defineOperation",
    ],
    ["cannot be loaded", "export default nothing;\n", "throw-away-session.ts: nothing is not defined"],
  ])("are refused when one %s", async (_, source, fault) => {
    const operations = mkdtempSync(join(folder, "operations-"));
    const write = (file: string, text: string) => writeFileSync(join(operations, file), text);
    write("cast-off-session.ts", operation("cast_off_session", "cast_off_gd"));
    write("throw-away-session.ts", source);
    await expect(readOperations(operations)).rejects.toThrow(new Error(fault));
  });

  it("are taken when all are complete", async () => {
    const operations = mkdtempSync(join(folder, "operations-"));
    writeFileSync(join(operations, "cast-off-session.ts"), operation("cast_off_session", "cast_off_gd"));
    writeFileSync(join(operations, "throw-away-session.ts"), throwAwaySession);
    const files = (await readOperations(operations)).map(({ file }) => file);
    expect(files).toEqual(["cast-off-session.ts", "throw-away-session.ts"]);
  });
});

describe("the documentation of an operation", () => {
  it("is complete", () => {
    expect(faultsOf({ operation: addAgents, documentation })).toEqual([]);
  });

  it("has words for every field and every refusal, and for nothing else", () => {
    const fields = { ...documentation.fields, chat_id: {}, tag: { description: "None." } };
    const probes = () => ({ tag: { inside: [], outside: [] } });
    const words = { cause: "None.", cure: "None." };
    const refusals = { ...documentation.refusals, not_a_ticket: { ...words, cure: "" }, gone: words };
    const examples = { listed: { summary: "Listed", fields: { tag: 1 } } };
    expect(
      faultsOf({ operation: addAgents, documentation: { ...documentation, fields, probes, refusals, examples } }),
    ).toEqual([
      "documentation.fields has no description of chat_id",
      "documentation.fields has tag, which is not a field",
      "documentation.probes has tag, which is not a field",
      "documentation.refusals has no cause or no cure of not_a_ticket",
      "documentation.refusals has gone, which is not a refusal",
      "documentation.examples.listed has tag, which is not a field",
    ]);
    expect(faultsOf({ operation: addAgents, documentation: { ...documentation, examples: {} } })).toEqual([
      "documentation.examples is empty",
    ]);
  });

  it("belongs to an operation with names of lower-case letters, digits and _", () => {
    const fault = (wireName: string) => faultsOf({ operation: { ...addAgents, wireName }, documentation });
    for (const name of ["Close_gd", "close-gd", "_gd", "1gd", "gd/x", ""]) expect(fault(name)).toHaveLength(1);
    expect(fault("cast_off_gd2")).toEqual([]);
  });
});

/** The source of an operation that imports nothing, so that it loads in no time. */
function operation(name: string, wireName: string): string {
  return `export default { name: "${name}", wireName: "${wireName}", path: "/openapi/v1/${wireName}", fieldNames: ["chat_id"], refusals: {} };
export const documentation = {
  fields: { chat_id: { description: "The session." } },
  refusals: {},
  examples: { one: { summary: "One", fields: { chat_id: 1 } } },
};
`;
}
