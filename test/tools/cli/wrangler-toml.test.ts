import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { unstable_readConfig } from "wrangler";
import { NotEditable, prepareDatabase } from "../../../src/tools/cli/edit-config.ts";
import { withDatabase } from "../../../src/tools/cli/wrangler-toml.ts";

const FILE = `# The Worker.
name = "w" # its name
compatibility_date = "2026-11-01"

[vars]
# For callers.
ERROR_STATUS = "by-cause" # or not

[[d1_databases]]
binding = "DB"
database_name = "w"
migrations_dir = "migrations"

[env.staging.vars]
ERROR_STATUS = "always-200"
[env.bare]

# At the end: another table.
[triggers]
crons = ["*/5 * * * *"] # five minutes
`;

interface Config {
  vars: Record<string, unknown>;
  d1_databases: { binding: string }[];
  triggers: { crons: string[] | undefined };
}

const BLOCK = { binding: "HOME_APAC", database_name: "w-apac", migrations_dir: "migrations" };

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "wrangler-toml-"));
  file = join(folder, "wrangler.toml");
  writeFileSync(file, FILE);
});
afterEach(() => rmSync(folder, { recursive: true }));

const text = () => readFileSync(file, "utf8");

function read(env: string) {
  const { vars, d1_databases, triggers }: Config = unstable_readConfig({ config: file, env }, { hideWarnings: true });
  return { status: vars.ERROR_STATUS, databases: d1_databases.map(({ binding }) => binding), crons: triggers.crons };
}

describe("another D1 binding in wrangler.toml", () => {
  it.each([
    ["", "[[d1_databases]]", ["DB", "HOME_APAC"]],
    ["staging", "[[env.staging.d1_databases]]", ["HOME_APAC"]],
    ["bare", "[[env.bare.d1_databases]]", ["HOME_APAC"]],
  ])(
    "a new D1 binding goes to the end of the environment %j, and no other line changes",
    async (env, header, bindings) => {
      const others = ["", "staging", "bare"].filter((each) => each !== env);
      const before = others.map(read);
      (await prepareDatabase({ file, env }, BLOCK))();
      const addedText = `${header}\nbinding = "HOME_APAC"\ndatabase_name = "w-apac"\nmigrations_dir = "migrations"\n`;
      expect(text()).toBe(`${FILE}\n${addedText}`);
      expect(read(env).databases).toEqual(bindings);
      expect(others.map(read)).toEqual(before);
    },
  );

  it("docs/deploying.md shows a new D1 binding exactly as the command writes it", () => {
    const page = readFileSync(join(import.meta.dirname, "../../../docs/deploying.md"), "utf8");
    const blocks = [...page.matchAll(/^```toml\n(.*?)^```$/gms)].map(([, block]) => block);
    expect(blocks).toContain(withDatabase("", "", { ...BLOCK, database_name: "agent-session-apac" }));
  });

  it("a new D1 binding may follow another one, and is written only when the returned function is called", async () => {
    const write = await prepareDatabase({ file, env: "" }, BLOCK);
    expect(text()).toBe(FILE);
    write();
    (await prepareDatabase({ file, env: "" }, { ...BLOCK, binding: "HOME_OC" }))();
    expect(read("").databases).toEqual(["DB", "HOME_APAC", "HOME_OC"]);
  });

  it("a new D1 binding has the line ends of the file, and quotes a stage's name when TOML needs quotes", async () => {
    const stage = "eu.west";
    const dos = `${FILE}[env."${stage}"]\n`.replaceAll("\n", "\r\n");
    writeFileSync(file, dos);
    (await prepareDatabase({ file, env: stage }, BLOCK))();
    expect(text().startsWith(dos)).toBe(true);
    expect(text()).toContain(`\r\n[[env."${stage}".d1_databases]]\r\nbinding`);
    expect(text().replaceAll("\r\n", "")).not.toContain("\n");
    expect(read(stage).databases).toEqual(["HOME_APAC"]);
  });

  it("a new D1 binding is refused in a file with databases in one line and in JSON, with a message that says what to write", async () => {
    const inline = FILE.replace(/\[\[d1_databases\]\][^[]*/, "").replace(
      "\n[vars]",
      '\nd1_databases = [{ binding = "DB" }]\n[vars]',
    );
    const json = join(folder, "wrangler.json");
    for (const [path, before] of [
      [file, inline],
      [json, '{ "name": "w" }'],
    ] as const) {
      writeFileSync(path, before);
      const edit = prepareDatabase({ file: path, env: "" }, BLOCK);
      await expect(edit).rejects.toThrow(NotEditable);
      await expect(edit).rejects.toThrow('HOME_APAC with database_name "w-apac" and migrations_dir "migrations"');
      expect(readFileSync(path, "utf8")).toBe(before);
    }
  });
});
