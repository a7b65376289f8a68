import { describe, expect, it } from "vitest";
import { type AccessVars, accessSettings, accessWarnings } from "../../../src/operators/access/settings.ts";

const VARS: AccessVars = {
  CONSOLE_SIGN_IN: "access",
  ACCESS_TEAM_DOMAIN: "shop.cloudflareaccess.com",
  ACCESS_AUD: "4714c135",
  CONSOLE_OWNERS: "ada@example.com",
};
const warningsOf = (vars: AccessVars) => accessWarnings(accessSettings(vars), vars);
const settingsOf = (change: AccessVars) => accessSettings({ ...VARS, ...change });

describe("the settings of Cloudflare Access", () => {
  it("the settings of Cloudflare Access give the issuer, the audience, the address of the keys and the roles", () => {
    const lists = { CONSOLE_OPERATORS: "Bo@example.com", CONSOLE_VIEWERS: "*@example.com, cy@example.org" };
    expect(settingsOf(lists)).toEqual({
      signIn: "access",
      access: {
        issuer: "https://shop.cloudflareaccess.com",
        audience: "4714c135",
        certsUrl: "https://shop.cloudflareaccess.com/cdn-cgi/access/certs",
        roles: {
          owner: ["ada@example.com"],
          operator: ["bo@example.com"],
          viewer: ["*@example.com", "cy@example.org"],
        },
      },
      accessFault: undefined,
    });
    expect(warningsOf({ ...VARS, ...lists })).toEqual([]);
  });

  it.each([
    "shop",
    "SHOP",
    "https://shop.cloudflareaccess.com/",
    " shop.cloudflareaccess.com\n",
    "https://Shop.cloudflareaccess.com",
  ])("the domain of the Access team is accepted as people copy it: %j", (domain) => {
    expect(settingsOf({ ACCESS_TEAM_DOMAIN: domain }).access).toMatchObject({
      issuer: "https://shop.cloudflareaccess.com",
      certsUrl: "https://shop.cloudflareaccess.com/cdn-cgi/access/certs",
    });
  });

  it.each([
    [{ ACCESS_TEAM_DOMAIN: undefined }, "ACCESS_TEAM_DOMAIN is not set"],
    [{ ACCESS_TEAM_DOMAIN: " " }, "ACCESS_TEAM_DOMAIN is not set"],
    ...[
      "http://shop.cloudflareaccess.com",
      "shop.cloudflareaccess.com/cdn-cgi",
      "shop.cloudflareaccess.com.example.com",
      "shop.example.com",
      "shop.cloudflareacces.com",
      "a.shop.cloudflareaccess.com",
      "cloudflareaccess.com",
      "shop@evil.cloudflareaccess.com",
      "shop:8080",
      "shop shop",
      "-",
    ].map(
      (domain) => [{ ACCESS_TEAM_DOMAIN: domain }, "ACCESS_TEAM_DOMAIN is not like team.cloudflareaccess.com"] as const,
    ),
    [{ ACCESS_AUD: undefined }, "ACCESS_AUD is not set"],
    [{ ACCESS_AUD: "" }, "ACCESS_AUD is not set"],
    [{ ACCESS_AUD: "one, two" }, "ACCESS_AUD holds a blank or a comma"],
  ] as [AccessVars, string][])(
    "Access settings with %j cannot be used, and the fault names the setting",
    (change, fault) => {
      for (const signIn of ["access", "both"]) {
        const vars = { ...VARS, ...change, CONSOLE_SIGN_IN: signIn };
        expect(accessSettings(vars)).toEqual({ signIn, access: undefined, accessFault: fault });
        expect(warningsOf(vars)).toEqual([`${fault}: nobody can sign in to the console by Cloudflare Access`]);
      }
    },
  );

  it.each([
    "http://127.0.0.1:8788/certs",
    "http://localhost:8788/certs",
    "https://localhost/certs",
    "http://[::1]:1/certs",
  ])("ACCESS_CERTS_URL may point to this machine: %s", (url) => {
    expect(settingsOf({ ACCESS_CERTS_URL: url }).access?.certsUrl).toBe(url);
  });

  it.each([
    "https://example.com/certs",
    "https://127.0.0.1.example.com/certs",
    "https://localhost.example.com/certs",
    "https://127.0.0.1@example.com/certs",
    "https://example.com/#127.0.0.1",
    "http://127.0.0.2/certs",
    "http://0.0.0.0/certs",
    "file://localhost/certs",
    "127.0.0.1:8788/certs",
    "",
  ])("ACCESS_CERTS_URL is ignored when it points to another machine: %j", (url) => {
    expect(settingsOf({ ACCESS_CERTS_URL: url }).access?.certsUrl).toBe(
      "https://shop.cloudflareaccess.com/cdn-cgi/access/certs",
    );
  });

  it("the Access warnings name lists with wrong entries and empty lists, but show no values", () => {
    expect(warningsOf({ ...VARS, CONSOLE_VIEWERS: "ada", CONSOLE_OPERATORS: "*" })).toEqual([
      "CONSOLE_VIEWERS has an entry that is no e-mail address and not like *@example.com: it counts for nobody",
      "CONSOLE_OPERATORS has an entry that is no e-mail address and not like *@example.com: it counts for nobody",
    ]);
    expect(warningsOf({ ...VARS, CONSOLE_OWNERS: "" })).toEqual([
      "CONSOLE_VIEWERS, CONSOLE_OPERATORS, CONSOLE_OWNERS name nobody: everybody who comes by Cloudflare Access is refused",
    ]);
  });
});

describe("how operators sign in", () => {
  it.each([undefined, "", " ", "token", " token\n"])(
    "operators sign in with the admin token, without Access, when CONSOLE_SIGN_IN is %j",
    (signIn) => {
      const settings = { signIn: "token", access: undefined, accessFault: undefined };
      expect(accessSettings({ CONSOLE_SIGN_IN: signIn })).toEqual(settings);
      expect(settingsOf({ CONSOLE_SIGN_IN: signIn })).toEqual(settings);
      expect(warningsOf({ CONSOLE_SIGN_IN: signIn, ACCESS_TEAM_DOMAIN: "?", CONSOLE_OWNERS: "?" })).toEqual([]);
    },
  );

  it.each(["acces", "Access", "token,access", "none"])(
    "nobody can sign in to the console by Access when CONSOLE_SIGN_IN is mistyped: %j",
    (signIn) => {
      const fault = 'CONSOLE_SIGN_IN must be "token" or "access" or "both"';
      expect(settingsOf({ CONSOLE_SIGN_IN: signIn })).toEqual({
        signIn: "access",
        access: undefined,
        accessFault: fault,
      });
      expect(warningsOf({ CONSOLE_SIGN_IN: signIn })).toEqual([
        `${fault}: nobody can sign in to the console by Cloudflare Access`,
      ]);
    },
  );
});
