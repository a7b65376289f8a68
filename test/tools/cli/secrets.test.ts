import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { main } from "../../../src/tools/cli/secrets.ts";
import { failure } from "../../support/fake-api.ts";
import { FakeCloudflare } from "../../support/fake-cloudflare.ts";
import { runCli } from "../../support/run-cli.ts";
import { runMain } from "../../support/run-main.ts";
import { warmWrangler } from "../../support/warm-wrangler.ts";

const KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const TOKEN = "0123456789abcdef0123456789abcdef";

const wrangler = warmWrangler();
let fake: FakeCloudflare;
let home: string;
let file: string;

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), "secrets-test-"));
  vi.stubEnv("HOME", home);
  file = join(home, "agent-session.secrets");
  fake = await FakeCloudflare.start();
});

afterEach(async () => {
  await fake.close();
  vi.unstubAllEnvs();
  rmSync(home, { recursive: true, force: true, maxRetries: 3 });
});

/** Runs the command on a machine with this home folder. */
const secrets = (...args: string[]) => runMain(main, args, { env: fake.environment, wrangler });

/** The secrets that the Worker was given. */
const workerSecrets = (worker = "agent-session") => Object.fromEntries(fake.workers.get(worker)?.secretValues ?? []);

/** The values in a file. */
function fileValues(path = file): Record<string, string> {
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]));
}

/** Makes a Worker that serves with these secrets. */
function serve(values: Record<string, string>, name = "agent-session"): void {
  fake.addWorker(name, Object.keys(values));
  for (const [secret, value] of Object.entries(values)) fake.workers.get(name)?.secretValues.set(secret, value);
}

describe("secrets of a deployment", () => {
  it("npm run secrets makes both secrets in a file for the owner only, and refuses a second run", async () => {
    const first = await secrets();
    expect(first).toMatchObject({ exitCode: 0, stderr: "" });
    expect(first.stdout).toContain(`Worker agent-session has MASTER_KEY and ADMIN_TOKEN of ${file}.`);
    const madeSecrets = workerSecrets();
    expect(madeSecrets).toEqual({
      MASTER_KEY: expect.stringMatching(/^[A-Za-z0-9+/]{43}=$/),
      ADMIN_TOKEN: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect([fileValues(), statSync(file).mode & 0o777]).toEqual([madeSecrets, 0o600]);
    for (const value of Object.values(madeSecrets)) expect(first.stdout).not.toContain(value);

    const text = readFileSync(file, "utf8");
    fake.calls.length = 0;
    for (const _ of ["the second time", "the third time"]) {
      const { exitCode, stdout, stderr } = await secrets();
      expect([exitCode, stdout, fake.writes()]).toEqual([1, "", []]);
      expect(stderr).toContain("Nothing was changed: Worker agent-session has MASTER_KEY and ADMIN_TOKEN already");
      expect(stderr).toContain(`${file} is as it was`);
      expect([workerSecrets(), readFileSync(file, "utf8")]).toEqual([madeSecrets, text]);
    }
    expect(fake.unknown).toEqual([]);
  });

  it("npm run secrets uses the values of the file again when they could not be set", async () => {
    fake.refuse = (call) => (call.endsWith("/secrets-bulk") ? failure(500, 10013, "An unknown error.") : undefined);
    const failed = await secrets();
    expect(failed.exitCode).toBe(1);
    expect(failed.stderr).toContain("An unknown error.");
    expect(failed.stderr).toContain(`The values are kept in ${file}. Run this again.`);
    const values = fileValues();
    expect([Object.keys(values), workerSecrets()]).toEqual([["MASTER_KEY", "ADMIN_TOKEN"], {}]);

    fake.refuse = undefined;
    expect((await secrets()).exitCode).toBe(0);
    expect([workerSecrets(), fileValues()]).toEqual([values, values]);
  });

  it.each([
    ["MASTER_KEY", { MASTER_KEY: KEY }],
    ["ADMIN_TOKEN", { ADMIN_TOKEN: TOKEN }],
  ])(
    "npm run secrets sets the missing secret from the file when the Worker has %s, which stays",
    async (name, there) => {
      serve(there);
      // The file has another value, which must not replace the serving Worker's.
      const other = { MASTER_KEY: KEY.replace("AAEC", "BBBB"), ADMIN_TOKEN: TOKEN.replace("0123", "ffff") };
      writeFileSync(file, `MASTER_KEY=${other.MASTER_KEY}\nADMIN_TOKEN=${other.ADMIN_TOKEN}\n`);
      const { exitCode, stdout } = await secrets();
      expect([exitCode, stdout]).toEqual([0, expect.stringContaining(`has a ${name} already. It stays.`)]);
      expect([workerSecrets(), fileValues()]).toEqual([{ ...other, ...there }, other]);
    },
  );

  it("npm run secrets makes no file on another machine when the Worker has both secrets", async () => {
    serve({ MASTER_KEY: KEY, ADMIN_TOKEN: TOKEN });
    const { exitCode, stderr } = await secrets();
    expect([exitCode, fake.writes(), existsSync(file)]).toEqual([1, [], false]);
    expect(stderr).toContain("Nothing was changed: Worker agent-session has MASTER_KEY and ADMIN_TOKEN already.");
    expect(workerSecrets()).toEqual({ MASTER_KEY: KEY, ADMIN_TOKEN: TOKEN });
  });

  it("npm run secrets makes only the token on another machine when the Worker has the key, whichever databases exist", async () => {
    serve({ MASTER_KEY: KEY });
    fake.addDatabase("agent-session", []);
    expect((await secrets()).exitCode).toBe(0);
    expect(Object.keys(fileValues())).toEqual(["ADMIN_TOKEN"]);
    expect(workerSecrets()).toEqual({ MASTER_KEY: KEY, ...fileValues() });
  });

  it("npm run secrets makes no new key for an existing database, and uses a key that an operator puts into the file", async () => {
    fake.addDatabase("agent-session", []);
    const { exitCode, stderr } = await secrets();
    expect([exitCode, fake.writes(), existsSync(file)]).toEqual([1, [], false]);
    expect(stderr).toContain("has no MASTER_KEY, but its database is there: agent-session.");
    expect(stderr).toContain("npx wrangler d1 delete agent-session");

    writeFileSync(file, `MASTER_KEY=${KEY}`);
    expect((await secrets()).exitCode).toBe(0);
    expect(workerSecrets()).toEqual({ MASTER_KEY: KEY, ADMIN_TOKEN: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect(fileValues()).toEqual(workerSecrets());
  });

  it("npm run secrets refuses a value that was cut off, and keeps the file", async () => {
    const text = `MASTER_KEY=${KEY.slice(0, 20)}`;
    writeFileSync(file, text);
    const { exitCode, stderr } = await secrets();
    expect([exitCode, fake.writes(), readFileSync(file, "utf8")]).toEqual([1, [], text]);
    expect(stderr).toContain(`Nothing was changed: MASTER_KEY in ${file} cannot be used.`);
  });

  it("npm run secrets makes no file when Cloudflare does not answer", async () => {
    fake.refuse = () => failure(403, 10000, "Authentication error");
    const { exitCode, stderr } = await secrets();
    expect([exitCode, existsSync(file)]).toEqual([1, false]);
    expect(stderr).toContain("The account could not be asked for its secrets");
  });

  it("npm run secrets has a file for each stage and for each name", async () => {
    serve({ MASTER_KEY: KEY, ADMIN_TOKEN: TOKEN });
    expect((await secrets("--env", "staging")).exitCode).toBe(0);
    expect((await secrets("--env", "staging", "--name", "third")).exitCode).toBe(0);
    expect(workerSecrets("agent-session-staging")).toEqual(fileValues(join(home, "agent-session-staging.secrets")));
    expect(workerSecrets("third")).toEqual(fileValues(join(home, "third.secrets")));
    expect(workerSecrets("third").MASTER_KEY).not.toBe(workerSecrets("agent-session-staging").MASTER_KEY);
    expect([workerSecrets(), existsSync(file)]).toEqual([{ MASTER_KEY: KEY, ADMIN_TOKEN: TOKEN }, false]);
  });

  it("npm run secrets lists its options with --help, and refuses others before any request to Cloudflare", async () => {
    expect(await secrets("--help")).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("--env, -e NAME") });
    const refused = { exitCode: 2, stdout: "", stderr: expect.stringContaining("Unknown option '--force'") };
    expect(await secrets("--force")).toMatchObject(refused);
    expect(await runCli("secrets", ["--force"], { env: fake.environment })).toMatchObject(refused);
    expect(fake.calls).toEqual([]);
  });
});
