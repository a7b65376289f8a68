import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { readConfig } from "../src/config.ts";
import {
  alwaysStatus200,
  type Bindings,
  CLOSED_RETRY_SECONDS,
  ConfigurationError,
  homeDatabase,
} from "../src/core/config.ts";
import { BINDING_RULE } from "../src/core/homes.ts";
import { closedHomeVars } from "./support/closed-home-vars.ts";
import { TELEMETRY } from "./support/console-telemetry.ts";

const KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const OTHER_KEY = "Hx4dHBsaGRgXFhUUExIREA8ODQwLCgkIBwYFBAMCAQA=";
const TOKEN = "0123456789abcdefghijklmnopqrstuv";

/** A complete deployment. Each call returns a new object, because settings are cached by object. */
function bindings(change: { [K in keyof Bindings]?: unknown } = {}): Bindings {
  const { MASTER_KEY_PREVIOUS: _, ...rest } = env as Bindings;
  return { ...rest, MASTER_KEY: KEY, ADMIN_TOKEN: TOKEN, ...change } as Bindings;
}

const warn = vi.spyOn(console, "warn");
const warnings = () => warn.mock.calls.map(([line]) => (JSON.parse(String(line)) as { warning: string }).warning);

beforeEach(() => void warn.mockReset());
afterEach(() => void warn.mockReset());

describe("settings", () => {
  it("readConfig() returns the bindings and the parsed vars and secrets", () => {
    const testEnv = bindings({
      MASTER_KEY_PREVIOUS: OTHER_KEY,
      TIMESTAMP_TOLERANCE_SECONDS: "60",
      REPLAY_LOOK_MS: "0",
      ERROR_STATUS: "always-200",
      DRILLS: "off",
      EVENT_RETENTION_DAYS: "7",
      JOURNAL_DAYS: "90",
      AUDIT_DAYS: "90",
      WEBHOOK_LOOPBACK: "allow",
    });
    const config = readConfig(testEnv, TELEMETRY);
    expect(config).toEqual({
      directory: testEnv.DB,
      homes: new Map([
        ["main", testEnv.DB],
        ["apac", env.HOME_APAC],
      ]),
      closedHomes: new Set(),
      nonces: testEnv.NONCES,
      credentials: testEnv.CREDENTIALS,
      appLimit: testEnv.APP_LIMIT,
      siteLimit: testEnv.SITE_LIMIT,
      clientLimit: testEnv.CLIENT_LIMIT,
      events: testEnv.EVENTS,
      journal: testEnv.JOURNAL,
      journalDays: 90,
      auditDays: 90,
      tokenChanges: testEnv.TOKEN_CHANGES,
      tokenReads: testEnv.TOKEN_READS,
      alwaysStatus200: true,
      drills: false,
      webhookLoopback: true,
      eventRetentionDays: 7,
      masterKeys: [Uint8Array.fromBase64(KEY), Uint8Array.fromBase64(OTHER_KEY)],
      adminToken: TOKEN,
      adminTokenFault: undefined,
      signIn: "token",
      access: undefined,
      accessFault: undefined,
      timestampToleranceSeconds: 60,
      replayCheckMs: 0,
    });
    expect(config.directory).toBe(testEnv.DB);
    expect(warnings()).toEqual([]);
  });

  it("settings that are not set have the documented defaults", () => {
    const config = readConfig(
      bindings({
        TIMESTAMP_TOLERANCE_SECONDS: undefined,
        REPLAY_LOOK_MS: undefined,
        ERROR_STATUS: undefined,
        DRILLS: undefined,
        EVENT_RETENTION_DAYS: undefined,
        AUDIT_DAYS: undefined,
      }),
      TELEMETRY,
    );
    expect(config.timestampToleranceSeconds).toBe(300);
    expect(config.drills).toBe(true);
    expect(config.eventRetentionDays).toBe(30);
    expect(config.auditDays).toBe(730);
    expect(config.webhookLoopback).toBe(false);
    expect(config.replayCheckMs).toBe(1);
    expect(config.masterKeys).toHaveLength(1);
  });

  it("the vars of wrangler.toml have the default values", () => {
    const { TIMESTAMP_TOLERANCE_SECONDS, REPLAY_LOOK_MS, ERROR_STATUS, DRILLS, CONSOLE_SIGN_IN } = env as Bindings;
    expect({ TIMESTAMP_TOLERANCE_SECONDS, REPLAY_LOOK_MS, ERROR_STATUS, DRILLS, CONSOLE_SIGN_IN }).toEqual({
      TIMESTAMP_TOLERANCE_SECONDS: "300",
      REPLAY_LOOK_MS: "1",
      ERROR_STATUS: "by-cause",
      DRILLS: "on",
      CONSOLE_SIGN_IN: "token",
    });
  });

  it("an empty MASTER_KEY_PREVIOUS counts as not set", () => {
    expect(readConfig(bindings({ MASTER_KEY_PREVIOUS: "" }), TELEMETRY).masterKeys).toHaveLength(1);
  });

  it("settings are parsed once for each set of bindings", () => {
    const testEnv = bindings();
    expect(readConfig(testEnv, TELEMETRY)).toBe(readConfig(testEnv, TELEMETRY));
    expect(readConfig(testEnv, TELEMETRY)).not.toBe(readConfig(bindings(), TELEMETRY));
  });

  it.each([
    ["TIMESTAMP_TOLERANCE_SECONDS", "900"],
    ["TIMESTAMP_TOLERANCE_SECONDS", "0"],
    ["REPLAY_LOOK_MS", "1000"],
  ])("the setting %s accepts its limit %s", (name, value) => {
    expect(() => readConfig(bindings({ [name]: value }), TELEMETRY)).not.toThrow();
  });

  it.each([
    ["DB", undefined, "DB is not bound"],
    ["MASTER_KEY", undefined, "MASTER_KEY is not set"],
    ["MASTER_KEY", "", "MASTER_KEY is not set"],
    ["MASTER_KEY", "replace me!", "MASTER_KEY is not base64"],
    ["MASTER_KEY", "changeme", "MASTER_KEY must be 32 bytes in base64"],
    ["MASTER_KEY", btoa("x".repeat(31)), "MASTER_KEY must be 32 bytes in base64"],
    ["MASTER_KEY", btoa("abcdefghijklmnopqrstuvwxyz0123456"), "MASTER_KEY must be 32 bytes in base64"],
    ["MASTER_KEY", btoa("\0".repeat(32)), "MASTER_KEY is a placeholder"],
    ["MASTER_KEY_PREVIOUS", "changeme", "MASTER_KEY_PREVIOUS must be 32 bytes in base64"],
    ["MASTER_KEY_PREVIOUS", "A".repeat(43), "MASTER_KEY_PREVIOUS is a placeholder"],
    ["JOURNAL_DAYS", "0", "JOURNAL_DAYS must be a whole number from 1 up to 90"],
    ["JOURNAL_DAYS", "91", "JOURNAL_DAYS must be a whole number from 1 up to 90"],
    ["AUDIT_DAYS", "89", "AUDIT_DAYS must be a whole number from 90 up to 36500"],
    ["AUDIT_DAYS", "", "AUDIT_DAYS must be a whole number from 90 up to 36500"],
    ["EVENT_RETENTION_DAYS", "0", "EVENT_RETENTION_DAYS must be a whole number from 1 up to 3650"],
    ["EVENT_RETENTION_DAYS", "3651", "EVENT_RETENTION_DAYS must be a whole number from 1 up to 3650"],
    ["WEBHOOK_LOOPBACK", "yes", 'WEBHOOK_LOOPBACK must be "allow" or absent'],
    ["TIMESTAMP_TOLERANCE_SECONDS", "901", "TIMESTAMP_TOLERANCE_SECONDS must be a whole number up to 900"],
    ["TIMESTAMP_TOLERANCE_SECONDS", "-1", "TIMESTAMP_TOLERANCE_SECONDS must be a whole number up to 900"],
    ["TIMESTAMP_TOLERANCE_SECONDS", "5m", "TIMESTAMP_TOLERANCE_SECONDS must be a whole number up to 900"],
    ["TIMESTAMP_TOLERANCE_SECONDS", "", "TIMESTAMP_TOLERANCE_SECONDS must be a whole number up to 900"],
    ["REPLAY_LOOK_MS", "1001", "REPLAY_LOOK_MS must be a whole number up to 1000"],
    ["REPLAY_LOOK_MS", "1.5", "REPLAY_LOOK_MS must be a whole number up to 1000"],
    ["ERROR_STATUS", "always", 'ERROR_STATUS must be "by-cause" or "always-200"'],
    ["DRILLS", "", 'DRILLS must be "on" or "off"'],
  ])("the setting %s = %j is refused with an error that names the setting", (name, value, message) => {
    expect(() => readConfig(bindings({ [name]: value }), TELEMETRY)).toThrow(new ConfigurationError(message));
    expect(warnings()).toEqual([]);
  });
});

describe("homes", () => {
  const homesOf = (change: Record<string, unknown>) => readConfig(bindings(change), TELEMETRY).homes;

  it("the homes are main in the directory's database, and each database bound as HOME_, sorted by name", () => {
    const [eu, oc] = [{ ...env.DB, prepare: 1, batch: 1 }, env.HOME_APAC];
    const homes = homesOf({ HOME_OC: oc, HOME_EU_WEST: eu, HOME_APAC: undefined, HOME_A2: oc });
    expect([...homes.keys()]).toEqual(["main", "a2", "eu-west", "oc"]);
    expect([homes.get("main"), homes.get("oc"), homes.get("eu-west")]).toEqual([env.DB, oc, eu]);
  });

  it("main is the only home when no other database is bound", () => {
    expect([...homesOf({ HOME_APAC: undefined }).entries()]).toEqual([["main", env.DB]]);
  });

  it.each([
    ["a var", "https://example.com"],
    ["null", null],
    ["a namespace of KV", env.CREDENTIALS],
    ["a rate limit", env.APP_LIMIT],
  ])("%s that is bound under the name of a home is not a home", (_, value) => {
    expect([...homesOf({ HOME_PAGE: value, HOME_: value, HOME_MAIN: value }).keys()]).toEqual(["main", "apac"]);
  });

  it.each(["HOME_MAIN", "HOME_apac", "HOME_1", `HOME_${"A".repeat(32)}`])(
    "a database bound as %s is refused, because the name is not valid for a home",
    (binding) => {
      const fault = new ConfigurationError(`${binding} is no home. ${BINDING_RULE}`);
      expect(() => homesOf({ [binding]: env.DB })).toThrow(fault);
    },
  );

  it("a database whose binding does not begin with HOME_ is not a home", () => {
    expect([...homesOf({ OTHER: env.DB, home_oc: env.DB }).keys()]).toEqual(["main", "apac"]);
  });

  it("the name of a home may have 31 characters", () => {
    expect([...homesOf({ [`HOME_${"A".repeat(31)}`]: env.DB }).keys()]).toContain("a".repeat(31));
  });

  it("a home without a binding is unavailable, and the error names the missing binding", () => {
    const config = readConfig(bindings(), TELEMETRY);
    expect(homeDatabase(config, "main")).toBe(env.DB);
    expect(homeDatabase(config, "apac")).toBe(env.HOME_APAC);
    expect(() => homeDatabase(config, "eu-west")).toThrow(
      expect.objectContaining({
        code: "unavailable",
        context: {
          reason: "home_unbound",
          violations: [{ rule: "home_bound", values: ["eu-west", "HOME_EU_WEST"] }],
          retryAfter: CLOSED_RETRY_SECONDS,
        },
      }),
    );
  });

  it("a CLOSED_ secret closes its home, and the log warns once when there is no such home", () => {
    const testEnv = bindings(closedHomeVars("apac", "eu-west"));
    expect([...readConfig(testEnv, TELEMETRY).closedHomes]).toEqual(["apac", "eu-west"]);
    readConfig(testEnv, TELEMETRY);
    expect(warnings()).toEqual(["CLOSED_EU_WEST closes eu-west, and there is no such home"]);
  });

  it("CLOSED_HOMES of an earlier release closes its homes too, with a warning that it is old", () => {
    expect([...readConfig(bindings({ CLOSED_HOMES: "apac" }), TELEMETRY).closedHomes]).toEqual(["apac"]);
    expect(warnings()).toEqual([
      "CLOSED_HOMES is of a release before this one, and closes apac: npm run deploy makes secrets of it",
    ]);
  });
});

describe("ERROR_STATUS", () => {
  it("ERROR_STATUS is read even in a deployment without DB and MASTER_KEY", () => {
    const broken = { MASTER_KEY: undefined, DB: undefined };
    expect(alwaysStatus200(bindings({ ...broken, ERROR_STATUS: "always-200" }))).toBe(true);
    expect(alwaysStatus200(bindings({ ...broken, ERROR_STATUS: "by-cause" }))).toBe(false);
    expect(alwaysStatus200(bindings({ ...broken, ERROR_STATUS: undefined }))).toBe(false);
  });
});

describe("the sign-in by Cloudflare Access", () => {
  const vars = {
    CONSOLE_SIGN_IN: "both",
    ACCESS_TEAM_DOMAIN: "shop",
    ACCESS_AUD: "4714c135",
    CONSOLE_OWNERS: "*@a.com",
  };

  it("the settings of the sign-in by Cloudflare Access are read from the vars", () => {
    expect(readConfig(bindings(vars), TELEMETRY)).toMatchObject({
      signIn: "both",
      access: { issuer: "https://shop.cloudflareaccess.com", audience: "4714c135", roles: { owner: ["*@a.com"] } },
      accessFault: undefined,
    });
    expect(warnings()).toEqual([]);
  });

  it.each([
    [{ ...vars, ACCESS_AUD: "" }, "both", "ACCESS_AUD is not set"],
    [{ ...vars, CONSOLE_SIGN_IN: "acces" }, "access", 'CONSOLE_SIGN_IN must be "token" or "access" or "both"'],
  ])(
    "a wrong setting of Cloudflare Access stops only that sign-in, with one warning in the log: %j",
    (change, signIn, accessFault) => {
      const testEnv = bindings(change);
      expect(readConfig(testEnv, TELEMETRY)).toMatchObject({
        signIn,
        access: undefined,
        accessFault,
        adminToken: TOKEN,
        timestampToleranceSeconds: 300,
      });
      readConfig(testEnv, TELEMETRY);
      expect(warnings()).toEqual([`${accessFault}: nobody can sign in to the console by Cloudflare Access`]);
    },
  );
});

describe("warnings", () => {
  it.each(["NONCES", "CREDENTIALS"])("the log warns once when %s is not bound", (name) => {
    const testEnv = bindings({ [name]: undefined });
    readConfig(testEnv, TELEMETRY);
    readConfig(testEnv, TELEMETRY);
    expect(warnings()).toEqual([`${name} is not bound: D1 decides alone`]);
  });

  it.each([
    ["1", 2, ["EVENT_RETENTION_DAYS is taken as 2: the attempts of a delivery take about 30 hours"]],
    ["01", 2, ["EVENT_RETENTION_DAYS is taken as 2: the attempts of a delivery take about 30 hours"]],
    ["2", 2, []],
    ["3650", 3_650, []],
  ])(
    "EVENT_RETENTION_DAYS %s is taken as %i, with one warning when it is shorter than a delivery takes",
    (value, days, texts) => {
      const settings = bindings({ EVENT_RETENTION_DAYS: value });
      expect(readConfig(settings, TELEMETRY).eventRetentionDays).toBe(days);
      readConfig(settings, TELEMETRY);
      expect(warnings()).toEqual(texts);
    },
  );

  it.each([
    ["is not set", undefined],
    ["is not set", ""],
    ["is not set", " \r\n\t"],
    ["is shorter than 32 characters", TOKEN.slice(1)],
    ["is shorter than 32 characters", `\n${TOKEN.slice(1)}\n\n`],
    ["holds a blank", `${TOKEN} ${TOKEN}`],
    ["holds a blank", `${TOKEN}\t${TOKEN}`],
    ["holds a blank", `${TOKEN}\u3000${TOKEN}`],
    ["holds a line break", `${TOKEN}\n${TOKEN}\n`],
    ["holds a control character", `${TOKEN}\0`],
    ["holds a control character", `${TOKEN}\x7f`],
    ["holds a character that is not ASCII", `${TOKEN}é`],
    ["holds a character that is not ASCII", `${TOKEN}漢`],
    ["holds a character that is not ASCII", `${TOKEN}\u200b`],
    ["is a placeholder", "change-me-0123456789-abcdefghijklmnop"],
    ["is a placeholder", "Your-admin-token-0123456789-abcdefgh"],
    ["is a placeholder", "replace_this_0123456789_abcdefghijk"],
    ["is a placeholder", "example-token-0123456789-abcdefghijk"],
    ["is a placeholder", "<placeholder>".repeat(3).slice(1)],
    ["is a placeholder", "a".repeat(40)],
    ["is a placeholder", "1234567".repeat(6)],
  ])("an ADMIN_TOKEN that %s is not used, and the log warns once: %j", (fault, token) => {
    const testEnv = bindings({ ADMIN_TOKEN: token });
    expect(readConfig(testEnv, TELEMETRY)).toMatchObject({ adminToken: undefined, adminTokenFault: fault });
    readConfig(testEnv, TELEMETRY);
    expect(warnings()).toEqual([`ADMIN_TOKEN ${fault}: the admin API and the console refuse everything`]);
  });

  it.each(["\n", "\r\n", " ", "\t\n "])("blanks around ADMIN_TOKEN are removed: %j", (around) => {
    for (const token of [TOKEN + around, around + TOKEN, around + TOKEN + around]) {
      expect(readConfig(bindings({ ADMIN_TOKEN: token }), TELEMETRY).adminToken).toBe(TOKEN);
    }
    expect(warnings()).toEqual([]);
  });
});
