import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ensureDevSecrets } from "../../../src/tools/cli/dev-secrets.ts";

const KEY = "MASTER_KEY=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n";
const TOKEN = "ADMIN_TOKEN=0123456789abcdef0123456789abcdef\n";

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "dev-secrets-test-"));
  file = join(folder, ".dev.vars");
});

afterEach(() => rmSync(folder, { recursive: true }));

/** The values of the file. The last line of a name counts. */
function values(): Record<string, string> {
  const lines = readFileSync(file, "utf8").split("\n");
  return Object.fromEntries(
    lines
      .filter((line) => /^[A-Z_]+=/.test(line))
      .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
  );
}

const MADE = { MASTER_KEY: /^[A-Za-z0-9+/]{43}=$/, ADMIN_TOKEN: /^[0-9a-f]{64}$/ } as const;

describe("the secrets of a local run", () => {
  it("new secrets of a local run are readable for the owner only, and follow the Worker's rules", () => {
    expect(ensureDevSecrets(file)).toEqual({ made: true, added: ["MASTER_KEY", "ADMIN_TOKEN"], placeholders: [] });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(values()).toEqual({
      MASTER_KEY: expect.stringMatching(MADE.MASTER_KEY),
      ADMIN_TOKEN: expect.stringMatching(MADE.ADMIN_TOKEN),
    });
  });

  it("new secrets of a local run differ each time", () => {
    ensureDevSecrets(file);
    const first = readFileSync(file, "utf8");
    rmSync(file);
    ensureDevSecrets(file);
    const second = readFileSync(file, "utf8").split("\n");
    expect(second.filter((line) => line !== "" && first.includes(line))).toEqual([]);
  });

  it.each([
    `${KEY}${TOKEN}`,
    `# mine\n export MASTER_KEY = "x" # why\nADMIN_TOKEN: 'y'`,
    `MASTER_KEY=\n${KEY}${TOKEN}OTHER=1`,
  ])("existing secrets of a local run do not change: %j", (text) => {
    writeFileSync(file, text);
    expect(ensureDevSecrets(file)).toEqual({ made: false, added: [], placeholders: [] });
    expect(readFileSync(file, "utf8")).toBe(text);
  });

  it.each<{ text: string; added: (keyof typeof MADE)[] }>([
    { text: KEY, added: ["ADMIN_TOKEN"] },
    { text: `${KEY.trim()}`, added: ["ADMIN_TOKEN"] },
    { text: `#${KEY}NOT_MASTER_KEY=1\n${TOKEN}`, added: ["MASTER_KEY"] },
    { text: `MASTER_KEY=""\n${TOKEN}`, added: ["MASTER_KEY"] },
    { text: "", added: ["MASTER_KEY", "ADMIN_TOKEN"] },
  ])(
    "missing secrets of a local run are added at the end of the file, and nothing else changes: $text",
    ({ text, added }) => {
      writeFileSync(file, text);
      expect(ensureDevSecrets(file)).toEqual({ made: false, added, placeholders: [] });
      expect(readFileSync(file, "utf8").startsWith(text)).toBe(true);
      for (const name of added) expect(values()[name]).toMatch(MADE[name]);
    },
  );

  it("the placeholders of .dev.vars.example are recognised as placeholders", () => {
    const example = readFileSync(join(import.meta.dirname, "../../../.dev.vars.example"), "utf8");
    writeFileSync(file, example);
    expect(ensureDevSecrets(file)).toEqual({ made: false, added: [], placeholders: ["MASTER_KEY", "ADMIN_TOKEN"] });
    expect(readFileSync(file, "utf8")).toBe(example);
  });
});
