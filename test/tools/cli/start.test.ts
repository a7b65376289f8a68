import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { BINDING_RULE } from "../../../src/core/homes.ts";
import { prepareDatabase } from "../../../src/tools/cli/edit-config.ts";
import { main } from "../../../src/tools/cli/start.ts";
import { withDatabase } from "../../../src/tools/cli/wrangler-toml.ts";
import { eventually } from "../../support/eventually.ts";
import { place, start, toItsEnd, useCheckout } from "../../support/npm-start.ts";
import { runMain } from "../../support/run-main.ts";
import { warmWrangler } from "../../support/warm-wrangler.ts";

useCheckout(true);
const wrangler = warmWrangler();

const MISNAMED = { binding: "HOME_1A", database_name: "by-hand", migrations_dir: "migrations" };

/** Runs the command in this process, where it ends before it serves. */
const tryStart = (...args: string[]) => runMain(main, args, { root: place.checkout, wrangler });

describe("before it starts", () => {
  afterEach(() => {
    for (const name of [".dev.vars", ".wrangler"]) expect(existsSync(join(place.checkout, name)), name).toBe(false);
  });

  it.each([
    ["asked for", (port: number) => ["--port", String(port)]],
    ["that it takes unless told otherwise", () => []],
  ])("npm start says before anything else that the port %s is in use, and makes nothing", async (_, args) => {
    const isPortGiven = args(0).length > 0;
    const other = createServer();
    // When another program already has the default port, the test is the same.
    await new Promise((resolve) =>
      other.on("error", resolve).listen(isPortGiven ? 0 : 8787, "localhost", () => resolve(undefined)),
    );
    const port = isPortGiven ? (other.address() as AddressInfo).port : 8787;
    const { exitCode, stdout, stderr } = await tryStart(...args(port));
    other.close();
    expect(stderr).toContain(`Port ${port} is in use`);
    expect(stderr).toContain("npm start -- --port PORT");
    expect([exitCode, stdout]).toEqual([1, ""]);
  });

  it.each([
    [["--prot", "8790"], "Unknown option '--prot'"],
    [["-p", "8790"], "Unknown option '-p'"],
    [["--port", "0", "--remote"], "Unknown option '--remote'"],
    [["staging"], "Unexpected argument 'staging'"],
    [["--port"], "'--port <value>' argument missing"],
    [["--port", "abc"], "--port abc is no number"],
    [["--port", "65536"], "--port 65536 is no number"],
    [["--port", "0", "--env", "staging", "-e", "other"], "--env may be given once"],
  ])("npm start refuses %j by name, and makes nothing", async (args, says) => {
    const { exitCode, stdout, stderr } = await tryStart(...args);
    expect(stderr).toContain(says);
    if (says.includes("'")) expect(stderr).toContain("The options are --port, --ip, --var,");
    expect([exitCode, stdout]).toEqual([2, ""]);
  });

  it("npm start refuses to close a home that does not exist, and lists the homes", async () => {
    const { exitCode, stdout, stderr } = await tryStart("--port", "0", "--close", "main", "--close", "apca");
    expect(stderr).toContain("There is no home apca. The homes are: main.");
    expect([exitCode, stdout]).toEqual([2, ""]);
  });

  it.each(["CLOSED_HOMES:main", "CLOSED_MAIN:"])(
    "npm start refuses --var %s, and says how to close a home",
    async (variable) => {
      const { exitCode, stdout, stderr } = await tryStart("--port", "0", "--var", variable);
      expect(stderr).toContain("to close a home here: npm start -- --close NAME");
      expect([exitCode, stdout]).toEqual([2, ""]);
    },
  );

  it.each([
    [
      "a D1 binding that is no home",
      (toml: string) => withDatabase(toml, "", MISNAMED),
      `bound as HOME_1A. ${BINDING_RULE}`,
    ],
    [
      "a var that closes homes",
      (toml: string) => toml.replace("[vars]", '[vars]\nCLOSED_HOMES = ""'),
      "wrangler.faulty.toml sets CLOSED_HOMES.",
    ],
  ])("npm start refuses a configuration with %s", async (_, faulty, says) => {
    const config = join(place.checkout, "wrangler.faulty.toml");
    writeFileSync(config, faulty(readFileSync(join(place.checkout, "wrangler.toml"), "utf8")));
    const { exitCode, stdout, stderr } = await tryStart("--port", "0", "--config", "wrangler.faulty.toml");
    expect(stderr).toContain(says);
    expect([exitCode, stdout]).toEqual([1, ""]);
  });

  it("npm start refuses a file of secrets that closes homes", async () => {
    writeFileSync(join(place.checkout, "closing.env"), 'MASTER_KEY=x\nexport CLOSED_HOMES="main"\n');
    const { exitCode, stdout, stderr } = await tryStart("--port", "0", "--env-file", "closing.env");
    expect(stderr).toContain("closing.env sets CLOSED_HOMES.");
    expect([exitCode, stdout]).toEqual([1, ""]);
  });

  it("npm start refuses a stage that is not in wrangler.toml", async () => {
    const { exitCode, stdout, stderr } = await tryStart("--port", "0", "--env", "nowhere");
    expect(stderr).toContain('No environment found in configuration with name "nowhere"');
    expect([exitCode, stdout]).toEqual([1, ""]);
  });

  it("npm start names options that npm kept for itself", async () => {
    const { exitCode, stderr } = await toItsEnd("npm", ["start", "--silent", "--port", "8790", "--ip=127.0.0.1"]);
    expect(stderr).toContain('npm kept --port, --ip for itself. Options stand after "--": npm start -- …');
    expect(exitCode).toBe(2);
  });

  it("npm start --help lists the options, and wrangler dev has all of them except --access and --close", async () => {
    const { exitCode, stdout } = await tryStart("--help");
    expect(exitCode).toBe(0);
    const { stdout: known } = await wrangler(["dev", "--help"], { env: {}, root: place.checkout, input: "" });
    const options = (stdout.match(/--[a-z][a-z-]+/g) ?? []).filter(
      (option) => !["--access", "--close"].includes(option),
    );
    expect(options.length).toBeGreaterThan(10);
    for (const option of options) expect(known).toMatch(new RegExp(`${option}\\b`));
  });
});

describe("while it runs", () => {
  let running: Awaited<ReturnType<typeof start>>;
  let secrets: string;
  beforeAll(async () => {
    const block = { binding: "HOME_APAC", database_name: "by-hand", migrations_dir: "migrations" };
    (await prepareDatabase({ file: join(place.checkout, "wrangler.toml"), env: "" }, block))();
    running = await start();
    secrets = readFileSync(join(place.checkout, ".dev.vars"), "utf8");
    expect((await running.admin("POST", { name: "Kept" })).status).toBe(201);
  }, 240_000);

  it("npm start makes secrets, migrates and serves", async () => {
    expect(running.output()).toContain("Made .dev.vars with a random MASTER_KEY and ADMIN_TOKEN");
    expect(running.output()).toContain("Database migrated.\nHome apac migrated.\n");
    expect(running.output()).toContain("npm run call -- create_gd");
    expect(await (await running.admin("GET")).json()).toMatchObject({ items: [{ id: 1, name: "Kept" }] });
  });

  it("npm start serves edits of the Worker, of single files in src and of the docs, and keeps its state and secrets", async () => {
    // The edits come one after the other, because wrangler reports only one of several simultaneous edits.
    edit("src/operators/services/refusals.ts", "There is no such", "Nowhere is there a");
    await eventually(async () => {
      const problem = await (await running.admin("GET", undefined, "/99/apps")).json();
      expect(problem).toMatchObject({ status: 404, detail: "Nowhere is there a site." });
    });
    edit("docs/retrying.md", "Networks lose answers.", "Answers get lost.");
    await eventually(async () => {
      expect(await (await running.get("/docs/retrying/")).text()).toContain("Answers get lost.");
    });
    edit("src/core/errors.ts", "接口不存在", "此路不通");
    await eventually(async () => {
      expect(await (await running.get("/openapi/nowhere")).json()).toMatchObject({ msg: "此路不通" });
    });

    expect(await (await running.admin("GET")).json()).toMatchObject({ items: [{ id: 1, name: "Kept" }] });
    expect(readFileSync(join(place.checkout, ".dev.vars"), "utf8")).toBe(secrets);
    // A build writes these docs itself, which must not cause another build.
    const rebuilt = [...running.output().matchAll(/^The file (\S+) changed/gm)].map(([, path]) => path);
    for (const path of ["src/operators/services/refusals.ts", "docs/retrying.md", "src/core/errors.ts"]) {
      expect(rebuilt).toContain(path);
    }
    expect(rebuilt.filter((path) => path?.includes("src/assets"))).toEqual([]);
  });

  it("npm start ends all of its processes, and the next run has its state and secrets and can close a home", async () => {
    expect(await running.stop("SIGTERM")).toBe(143);
    await expect(running.admin("GET")).rejects.toThrow("fetch failed");

    const second = await start(["--close", "apac"]);
    expect(second.output()).toContain("Database is up to date.\nHome apac is up to date.\n");
    expect(second.output()).not.toContain("Made ");
    expect(readFileSync(join(place.checkout, ".dev.vars"), "utf8")).toBe(secrets);
    expect(await (await second.admin("GET")).json()).toMatchObject({ items: [{ id: 1, name: "Kept" }] });
    expect(await (await second.admin("GET", undefined, "/../homes")).json()).toMatchObject({
      items: [
        { name: "main", status: "open" },
        { name: "apac", status: "closed" },
      ],
    });
    // The exit code is that of SIGINT, which the test sends, or of SIGTERM, which wrangler gets.
    expect([130, 143]).toContain(await second.stop("SIGINT"));
    await expect(second.admin("GET")).rejects.toThrow("fetch failed");

    for (const { output } of [running, second]) {
      expect(output()).not.toMatch(/WARNING|\[ERROR|✘/);
      for (const line of secrets.trim().split("\n")) expect(output()).not.toContain(line.slice(line.indexOf("=") + 1));
    }
  });
});

describe("old state", () => {
  it("npm start says that an older version's state must be reset, prints the command, and starts anew after it", async () => {
    const state = join(place.folder, "older state");
    const options = ["DB", "--local", "--env", "", "--persist-to", state];
    const older = `CREATE TABLE d1_migrations (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE);
      INSERT INTO d1_migrations (name) VALUES ('0000_older.sql')`;
    await wrangler(["d1", "execute", ...options, "--command", older], { env: {}, root: place.checkout, input: "" });
    const { exitCode, stderr } = await tryStart("--port", "0", "--persist-to", state);
    expect(exitCode).toBe(1);
    expect(stderr).toContain("The local state was made by another version: Database (DB) has 0000_older.sql.");
    const [command = ""] = stderr.split("\n").filter((line) => line.startsWith("  rm -r "));
    expect(command).toBe(`  rm -r '${join(state, "v3")}'`);
    expect(await toItsEnd("sh", ["-c", command])).toMatchObject({ exitCode: 0, stderr: "" });
    expect(readdirSync(state)).toEqual([]);
  });
});

function edit(path: string, before: string, after: string): void {
  const file = join(place.checkout, path);
  const text = readFileSync(file, "utf8");
  expect(text).toContain(before);
  writeFileSync(file, text.replaceAll(before, after));
}
