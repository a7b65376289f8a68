import { CompactSign, exportSPKI, SignJWT } from "jose";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import {
  AccessTeam,
  AUDIENCE,
  assertionOf,
  CLAIMS,
  keysResponse,
  newTeamKey,
  type TeamKey,
} from "../../support/access-team.ts";
import { NOW } from "../../support/test-runtime.ts";

let key: TeamKey;
let other: TeamKey;
let otherKey: TeamKey;
beforeAll(async () => {
  [key, other, otherKey] = await Promise.all([newTeamKey("one"), newTeamKey("two"), newTeamKey("one")]);
});

let team: AccessTeam;
beforeEach(() => {
  team = new AccessTeam(() => keysResponse(key, other));
});
afterEach(() => void vi.unstubAllGlobals());

const encode = (value: unknown) =>
  new TextEncoder().encode(JSON.stringify(value)).toBase64({ alphabet: "base64url", omitPadding: true });

/** An assertion of these three parts. */
const joinParts = (header: unknown, claims: unknown, signature = "") =>
  `${encode(header)}.${encode(claims)}.${signature}`;

describe("an assertion that Access made", () => {
  it("an Access assertion signed by any key of the team names the person, and the keys come from the team's own address", async () => {
    const person = { email: "ada@example.com", issuedAt: NOW - 60, expiresAt: NOW + 86_400 };
    for (const each of [key, other]) {
      expect(await team.verify(await assertionOf(each))).toEqual({ ok: true, person });
    }
    expect(team.fetched).toEqual(["https://shop.cloudflareaccess.com/cdn-cgi/access/certs"]);
    expect(team.keptRecords.warnings).toEqual([]);
  });

  it("an Access assertion may name one audience, or several that include ours", async () => {
    for (const aud of [AUDIENCE, ["another", AUDIENCE]]) {
      expect(await team.reasonOf(await assertionOf(key, { aud }))).toBeUndefined();
    }
  });

  it("an Access assertion's e-mail address is read in lower case and without blanks", async () => {
    expect(await team.verify(await assertionOf(key, { email: " Ada@Example.COM " }))).toMatchObject({
      person: { email: "ada@example.com" },
    });
  });

  it("an Access assertion is valid from the second in which it begins until the second in which it expires", async () => {
    const assertion = await assertionOf(key, { nbf: NOW, exp: NOW + 60 });
    const at = async (ms: number) => {
      team.clock.now = NOW * 1000 + ms;
      return team.reasonOf(assertion);
    };
    expect([await at(-1), await at(0), await at(59_999), await at(60_000)]).toEqual([
      "assertion_early",
      undefined,
      undefined,
      "assertion_expired",
    ]);
  });
});

describe("an assertion is refused", () => {
  it.each<[string, Record<string, unknown>, string]>([
    ["has expired", { exp: NOW - 1 }, "assertion_expired"],
    ["never expires", { exp: undefined }, "assertion_malformed"],
    ["expires at no number", { exp: "tomorrow" }, "assertion_malformed"],
    ["does not say when it was made", { iat: undefined }, "assertion_malformed"],
    ["is not valid yet", { nbf: NOW + 1 }, "assertion_early"],
    ["is for another application", { aud: ["another"] }, "assertion_audience"],
    ["is for an application whose tag begins like ours", { aud: [AUDIENCE.slice(0, -1)] }, "assertion_audience"],
    ["is for nothing", { aud: undefined }, "assertion_audience"],
    ["is of another issuer", { iss: "https://example.com" }, "assertion_issuer"],
    ["is of another team", { iss: "https://shop2.cloudflareaccess.com" }, "assertion_issuer"],
    ["is of an issuer like ours", { iss: "https://shop.cloudflareaccess.com/" }, "assertion_issuer"],
    ["is of nobody", { iss: undefined }, "assertion_issuer"],
    ["is of a service token", { email: undefined, common_name: "e367.access", sub: "" }, "assertion_without_email"],
    ["has an empty e-mail address", { email: "" }, "assertion_without_email"],
    ["has a list as e-mail address", { email: ["ada@example.com"] }, "assertion_without_email"],
    ["has a whole domain as e-mail address", { email: "*@example.com" }, "assertion_without_email"],
    ["has two e-mail addresses in one", { email: "bo@example.org,ada@example.com" }, "assertion_without_email"],
  ])("an Access assertion that %s is refused", async (_, claims, reason) => {
    expect(await team.reasonOf(await assertionOf(key, claims))).toBe(reason);
  });

  it("an Access assertion of another team is refused for its issuer, or as forged when the team's keys did not sign it", async () => {
    const settings = { issuer: "https://shop2.cloudflareaccess.com" };
    expect(await team.reasonOf(await assertionOf(key), settings)).toBe("assertion_issuer");
    expect(await team.reasonOf(await assertionOf(otherKey), settings)).toBe("assertion_forged");
  });

  it("an Access assertion is refused when another key signed it under the same key id", async () => {
    expect(await team.reasonOf(await assertionOf(otherKey))).toBe("assertion_forged");
  });

  it("an Access assertion that carries its own key is refused", async () => {
    const header = {
      alg: "RS256",
      kid: key.kid,
      jwk: otherKey.shown,
      jku: "https://example.com/certs",
      x5u: "https://example.com",
    };
    const assertion = await new SignJWT(CLAIMS).setProtectedHeader(header).sign(otherKey.privateKey);
    expect(await team.reasonOf(assertion)).toBe("assertion_forged");
    expect(team.fetched).toHaveLength(1);
  });

  it("an Access assertion whose claims or header were changed after signing is refused", async () => {
    const [header = "", , signature = ""] = (await assertionOf(key)).split(".");
    const assertion = `${header}.${encode({ ...CLAIMS, email: "bo@example.com" })}.${signature}`;
    expect(await team.reasonOf(assertion)).toBe("assertion_forged");
    expect(await team.reasonOf(joinParts({ alg: "RS256", kid: "two" }, CLAIMS, signature))).toBe("assertion_forged");
  });

  it.each(["none", "None", "NONE", "", "HS256", "RS384", "RS512", "PS256", "ES256", "EdDSA"])(
    "an Access assertion that names the algorithm %j is refused, and no key is fetched for it",
    async (alg) => {
      const [, , signature = ""] = (await assertionOf(key)).split(".");
      for (const each of ["", signature]) {
        const reason = await team.reasonOf(joinParts({ alg, kid: key.kid }, CLAIMS, each));
        expect(reason).toBe(alg === "" ? "assertion_malformed" : "assertion_forged");
      }
      expect(team.fetched).toEqual([]);
    },
  );

  it("an Access assertion signed by HS256 with the public key as the secret is refused", async () => {
    const pem = await exportSPKI(key.publicKey);
    for (const secret of [pem, pem.trim(), JSON.stringify(key.shown), String(key.shown.n)]) {
      const header = { alg: "HS256", kid: key.kid };
      const assertion = await new SignJWT(CLAIMS).setProtectedHeader(header).sign(new TextEncoder().encode(secret));
      expect(await team.reasonOf(assertion)).toBe("assertion_forged");
    }
  });

  it("an Access assertion that requires an unknown extension (crit) is refused", async () => {
    const header = { alg: "RS256", kid: key.kid, crit: ["own"], own: 1 };
    const payload = new TextEncoder().encode(JSON.stringify(CLAIMS));
    const assertion = await new CompactSign(payload)
      .setProtectedHeader(header)
      .sign(key.privateKey, { crit: { own: true } });
    expect(await team.reasonOf(assertion)).toBe("assertion_forged");
  });

  it("garbage in place of an Access assertion is refused, mostly without fetching a key", async () => {
    const parts = (await assertionOf(key)).split(".");
    const garbage = [
      "",
      " ",
      ".",
      "..",
      "...",
      "a.b.c",
      "Bearer x",
      "\0",
      "ключ",
      parts.slice(0, 2).join("."),
      `${parts.join(".")}.`,
    ];
    for (const each of garbage) expect([each, await team.reasonOf(each)]).toEqual([each, "assertion_malformed"]);
    expect(team.fetched).toEqual([]);
    expect(await team.reasonOf(`${parts[0]}.${parts[1]}.!`)).toBe("assertion_malformed");
  });

  it.each([
    ["an array", [CLAIMS]],
    ["a text", "ada@example.com"],
    ["null", null],
  ])("an Access assertion whose claims are %s is refused", async (_, claims) => {
    const payload = new TextEncoder().encode(JSON.stringify(claims));
    const header = { alg: "RS256", kid: key.kid };
    const assertion = await new CompactSign(payload).setProtectedHeader(header).sign(key.privateKey);
    expect(await team.reasonOf(assertion)).toBe("assertion_malformed");
  });

  it("an Access assertion longer than 8 KiB is refused without fetching a key", async () => {
    const filledTo = async (length: number) => {
      const { length: least } = await assertionOf(key, { groups: "" });
      return assertionOf(key, { groups: "x".repeat(Math.floor(((length - least) * 3) / 4)) });
    };
    const [longest, longer] = [await filledTo(8_192), await filledTo(8_196)];
    expect([longest.length <= 8_192, longer.length > 8_192]).toEqual([true, true]);
    expect(await team.reasonOf(longer)).toBe("assertion_malformed");
    expect(team.fetched).toEqual([]);
    expect(await team.reasonOf(longest)).toBeUndefined();
  });
});
