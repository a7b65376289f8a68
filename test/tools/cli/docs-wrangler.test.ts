import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { experimental_getWranglerCommands } from "wrangler";
import { withDatabase } from "../../../src/tools/cli/wrangler-toml.ts";
import { makeCheckout } from "../../support/checkout.ts";
import { run } from "../../support/run-cli.ts";
import { warmWrangler } from "../../support/warm-wrangler.ts";

const wrangler = warmWrangler();
const ROOT = join(import.meta.dirname, "../../..");
const DOCS = [
  "README.md",
  "README.zh-CN.md",
  "CONTRIBUTING.md",
  ...readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => join("docs", name)),
];
const DEPLOYING = readFileSync(join(ROOT, "docs/deploying.md"), "utf8");

/** All commands `npx wrangler …` in a text, without comments. */
const commandsIn = (text: string): string[] =>
  [...text.matchAll(/npx wrangler ([^`\n#|)]+)/g)].map(([, command = ""]) => command.trim());

type Node = ReturnType<typeof experimental_getWranglerCommands>["registry"];
type Args = Record<string, { alias?: string | readonly string[] }>;

const { registry, globalFlags } = experimental_getWranglerCommands();

/** The fault of a command; undefined when wrangler has the command and all of its options. */
function faultOf(command: string): string | undefined {
  const words = command.split(/\s+/);
  let node: Node | undefined = registry;
  let depth = 0;
  for (; node.subtree.size > 0 && words[depth] !== undefined; depth++) {
    node = node.subtree.get(words[depth] as string);
    if (node === undefined) return `${command}: there is no ${words[depth]}`;
  }
  const { definition } = node as { definition?: { type: string; args?: Args; positionalArgs?: readonly string[] } };
  if (definition?.type !== "command") return `${command}: is no command`;
  const args: Args = { ...(globalFlags as Args), ...definition.args };
  const known = Object.entries(args).flatMap(([name, { alias = [] }]) => [name, ...[alias].flat()]);
  const unknown = words.filter((word) => word.startsWith("--") && !known.includes(word.slice(2).split("=")[0] ?? ""));
  return unknown.length === 0 ? undefined : `${command}: there is no ${unknown.join(", ")}`;
}

describe("the wrangler commands in the pages", () => {
  it("each wrangler command of the docs exists, with its options", () => {
    const commands = DOCS.flatMap((path) => commandsIn(readFileSync(join(ROOT, path), "utf8")));
    expect(commands.length).toBeGreaterThan(20);
    expect(commands.map(faultOf).filter((fault) => fault !== undefined)).toEqual([]);
  });

  it.each([
    ["d1 exprot agent-session", "there is no exprot"],
    ["d1 export agent-session --no-rows", "there is no --no-rows"],
    ["d1", "is no command"],
  ])("a wrong wrangler command is reported: %s", (command, fault) => {
    expect(faultOf(command)).toContain(fault);
  });
});

describe("a copy outside the platform", () => {
  const folder = mkdtempSync(join(tmpdir(), "copy-test-"));
  const checkout = join(folder, "checkout");

  beforeAll(() => {
    makeCheckout(checkout);
    const file = join(checkout, "wrangler.toml");
    const block = {
      binding: "HOME_RESTORED",
      database_name: "agent-session-restored",
      migrations_dir: "migrations",
    };
    writeFileSync(file, withDatabase(readFileSync(file, "utf8"), "", block));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));

  /** Runs a command in the checkout, with the databases of this machine. */
  async function runs(command: string): Promise<void> {
    // The shell divides the command into words.
    const { stdout: words } = await run("sh", ["-c", `printf '%s\\0' ${command.replace("--remote", "--local")}`]);
    const outside = { env: {}, root: checkout, input: "" };
    const { exitCode, output } = await wrangler(words.split("\0").slice(0, -1), outside);
    expect([command, exitCode, exitCode === 0 ? "" : output]).toEqual([command, 0, ""]);
  }

  it("the commands of docs/deploying.md restore a copy row by row, whichever table refers to which", async () => {
    const section = DEPLOYING.split("\n## A copy outside the platform\n")[1]?.split("\n## ")[0] ?? "";
    const commands = commandsIn(section);
    expect(commands.map((command) => command.split(" ").slice(0, 2).join(" "))).toEqual([
      "d1 export",
      "d1 export",
      "d1 create",
      "d1 execute",
      "d1 execute",
    ]);
    await runs('d1 migrations apply DB --local --env ""');
    // The table agents sorts before home_sites, to which its rows refer.
    const rows = `INSERT INTO home_sites (site_id, name, status, chat_id_floor, revision, created_at) VALUES (7, 'Shop', 'open', 0, 0, 1);
      INSERT INTO agents (site_id, id, name, status) VALUES (7, 10411, '李娜', 'normal');`;
    await runs(`d1 execute DB --local --env "" --command "${rows}"`);
    for (const command of commands.filter((each) => !each.startsWith("d1 create"))) await runs(command);

    const dump = readFileSync(join(checkout, "data.sql"), "utf8");
    expect(dump).toContain("李娜");
    await runs('d1 export agent-session-restored --local --no-schema --output again.sql --env ""');
    // The migrations' own table has its counter twice after a restore, which does no harm.
    const again = readFileSync(join(checkout, "again.sql"), "utf8");
    expect([...new Set(again.split("\n"))]).toEqual(
      dump.split("\n").filter((line, at, all) => all.indexOf(line) === at),
    );
  });
});
