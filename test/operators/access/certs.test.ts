import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { AccessTeam, assertionOf, keysResponse, newTeamKey, type TeamKey } from "../../support/access-team.ts";
import { eventually } from "../../support/eventually.ts";

const [MINUTE, HOUR] = [60_000, 3_600_000];
const CERTS = "https://shop.cloudflareaccess.com/cdn-cgi/access/certs";

let key: TeamKey;
let newKey: TeamKey;
/** Assertions signed by the two keys, valid for days. */
let assertion: string;
let newAssertion: string;
beforeAll(async () => {
  [key, newKey] = await Promise.all([newTeamKey("one"), newTeamKey("two")]);
  const exp = Date.UTC(2030, 0) / 1000;
  [assertion, newAssertion] = await Promise.all([assertionOf(key, { exp }), assertionOf(newKey, { exp })]);
});

let team: AccessTeam;
beforeEach(() => {
  team = new AccessTeam(() => keysResponse(key));
});
afterEach(() => void vi.unstubAllGlobals());

const down = () => new Response("down", { status: 502 });
const warnings = () => team.keptRecords.warnings.map(({ fault }) => fault);
const both = async () => [await team.reasonOf(assertion), await team.reasonOf(newAssertion)];

describe("the keys of a team", () => {
  it("the keys of an Access team are fetched once per endpoint, and each endpoint has its own cache", async () => {
    for (let i = 0; i < 3; i++) expect(await team.reasonOf(assertion)).toBeUndefined();
    expect(team.fetched).toEqual([CERTS]);
    team.publishKeys(newKey);
    const certsUrl = "http://127.0.0.1:9/certs";
    expect(await team.reasonOf(newAssertion, { certsUrl })).toBeUndefined();
    expect(await team.reasonOf(assertion, { certsUrl })).toBe("assertion_forged");
    expect(await team.reasonOf(assertion)).toBeUndefined();
    expect(team.fetched).toEqual([CERTS, certsUrl]);
  });

  it("two simultaneous requests fetch the keys of the Access team once, and both get an answer", async () => {
    let answer: (response: Response) => void = () => {};
    team.answer = () => new Promise((resolve) => (answer = resolve));
    const reasons = [team.reasonOf(assertion), team.reasonOf(newAssertion), team.reasonOf(assertion)];
    await eventually(() => expect(team.fetched).toHaveLength(1));
    answer(keysResponse(key, newKey));
    expect(await Promise.all(reasons)).toEqual([undefined, undefined, undefined]);
    expect(team.fetched).toEqual([CERTS]);
  });

  it("a fetch of the Access keys is finished even when the request that began it goes away", async () => {
    let answer: (response: Response) => void = () => {};
    team.answer = () => new Promise((resolve) => (answer = resolve));
    const pendingWork: Promise<unknown>[] = [];
    const outcome = team.verifyLeaving(assertion, (work) => void pendingWork.push(work));
    await eventually(() => expect(pendingWork).toHaveLength(1));
    answer(keysResponse(key));
    await pendingWork[0];
    team.answer = down;
    expect(await team.reasonOf(assertion)).toBeUndefined();
    expect(team.fetched).toHaveLength(1);
    expect(await outcome).toMatchObject({ ok: true });
  });

  it("a request waits 3 s at most for the Access keys, and the next fetch is a minute later", async () => {
    team.answer = () => new Promise(() => {});
    team.haste = 100;
    const reasons = [team.reasonOf(assertion), team.reasonOf(assertion)];
    expect(await Promise.all(reasons)).toEqual(["certs_unavailable", "certs_unavailable"]);
    expect(warnings()).toEqual(["no answer in 3 s"]);
    team.publishKeys(key);
    team.clock.now += MINUTE - 1;
    expect(await team.reasonOf(assertion)).toBe("certs_unavailable");
    team.clock.now += 1;
    expect(await team.reasonOf(assertion)).toBeUndefined();
    expect(team.fetched).toHaveLength(2);
  });

  it("a request waits 3 s at most for Access keys when the request that fetched them was cut off", async () => {
    team.answer = () => new Promise(() => {});
    // The timer never fires, and the fetch never ends.
    team.haste = 1e-9;
    void team.verifyLeaving(assertion, () => {});
    await eventually(() => expect(team.fetched).toHaveLength(1));
    team.haste = 1;
    const reason = team.reasonOf(assertion);
    team.clock.now += 3_000;
    expect(await reason).toBe("certs_unavailable");
    team.publishKeys(key);
    team.clock.now += MINUTE;
    expect(await team.reasonOf(assertion)).toBeUndefined();
  });
});

describe("a key that is not known", () => {
  it("an unknown key id makes one fetch at once and then one a minute, however many assertions name it", async () => {
    expect(await both()).toEqual([undefined, "assertion_forged"]);
    expect(team.fetched).toHaveLength(1);
    for (let second = 0; second < 180; second += 10) {
      team.clock.now += 10_000;
      const reasons = Array.from({ length: 3 }, () => team.reasonOf(newAssertion));
      expect(await Promise.all(reasons)).toEqual(Array(3).fill("assertion_forged"));
    }
    expect(team.fetched).toHaveLength(4);
    expect(await team.reasonOf(assertion)).toBeUndefined();
    expect(warnings()).toEqual([]);
  });

  it("a new Access key verifies as soon as it is fetched, and the old key as long as the team shows it", async () => {
    expect(await both()).toEqual([undefined, "assertion_forged"]);
    team.clock.now += MINUTE;
    team.publishKeys(key, newKey);
    expect(await both()).toEqual([undefined, undefined]);
    team.publishKeys(newKey);
    team.clock.now += HOUR;
    // The first of these requests begins the fetch in the background.
    expect([await both(), await both()]).toEqual([
      [undefined, undefined],
      ["assertion_forged", undefined],
    ]);
  });

  it("a new Access key is not accepted while the endpoint is down, and the old key verifies all the time", async () => {
    expect(await team.reasonOf(assertion)).toBeUndefined();
    team.answer = down;
    for (let minute = 1; minute <= 3; minute++) {
      team.clock.now += MINUTE;
      for (let i = 0; i < 3; i++) expect(await both()).toEqual([undefined, "certs_unavailable"]);
      expect([team.fetched.length, warnings().length]).toEqual([1 + minute, minute]);
    }
    team.publishKeys(key, newKey);
    team.clock.now += MINUTE - 1;
    expect(await both()).toEqual([undefined, "certs_unavailable"]);
    team.clock.now += 1;
    expect(await both()).toEqual([undefined, undefined]);
    // The endpoint answers again, so a key that it does not show is forged.
    expect(await team.reasonOf(await assertionOf({ ...newKey, kid: "three" }))).toBe("assertion_forged");
    expect(team.fetched).toHaveLength(5);
    expect(warnings()).toEqual(["status 502", "status 502", "status 502"]);
  });
});

describe("known keys while the endpoint is down", () => {
  beforeEach(async () => {
    expect(await team.reasonOf(assertion)).toBeUndefined();
    team.answer = down;
  });

  it("known Access keys verify for 24 hours while the endpoint is down, and again when it is back", async () => {
    team.clock.now += 24 * HOUR - MINUTE;
    expect(await team.reasonOf(assertion)).toBeUndefined();
    team.clock.now += 2 * MINUTE;
    expect(await team.reasonOf(assertion)).toBe("certs_unavailable");
    team.publishKeys(key);
    expect(await team.reasonOf(assertion)).toBe("certs_unavailable");
    team.clock.now += MINUTE;
    expect(await team.reasonOf(assertion)).toBeUndefined();
  });

  it("known Access keys older than an hour are fetched in the background once a minute, and the log shows each failure", async () => {
    team.clock.now += HOUR - 1;
    expect(await team.reasonOf(assertion)).toBeUndefined();
    expect(team.fetched).toHaveLength(1);
    team.clock.now += 1;
    for (let i = 0; i < 3; i++) expect(await team.reasonOf(assertion)).toBeUndefined();
    expect(team.fetched).toHaveLength(2);
    team.clock.now += MINUTE;
    expect(await team.reasonOf(assertion)).toBeUndefined();
    expect(team.keptRecords.warnings).toEqual(
      Array(2).fill({
        warning: "the certs of Cloudflare Access could not be fetched",
        url: CERTS,
        fault: "status 502",
      }),
    );
  });

  it.each<[string, () => Response]>([
    ["an error", down],
    ["a redirect", () => Response.redirect("https://example.com/certs", 302)],
    ["a page", () => new Response("<html></html>")],
    ["no keys", () => Response.json({ keys: [] })],
    ["keys that are none", () => Response.json({ keys: ["one"] })],
    ["keys of no kind", () => Response.json({ keys: [{}] })],
    ["keys of another kind", () => Response.json({ keys: [{ kty: "EC", crv: "P-256", x: "a", y: "b", kid: "one" }] })],
    ["a list", () => Response.json([{}])],
    ["too much", () => Response.json({ keys: [{}], more: "x".repeat(65_536) })],
  ])("known Access keys stay in use when the endpoint answers with %s", async (_, answer) => {
    team.answer = answer;
    team.clock.now += HOUR;
    for (let i = 0; i < 2; i++) expect(await team.reasonOf(assertion)).toBeUndefined();
    expect(team.fetched).toHaveLength(2);
    expect(warnings()).toHaveLength(1);
  });
});

describe("an unusable key that the endpoint shows", () => {
  it.each([
    ["a short one", "assertion_forged", { kty: "RSA", n: "AQAB", e: "AQAB", kid: "one", alg: "RS256" }],
    ["half of one", "certs_unavailable", { kty: "RSA", e: "AQAB", kid: "one", alg: "RS256" }],
    ["a secret", "certs_unavailable", { kty: "oct", k: "AQAB", kid: "one", alg: "HS256" }],
  ])("an unusable key of the Access endpoint verifies no assertion: %s", async (_, reason, badKey) => {
    team.answer = () => Response.json({ keys: [badKey] });
    expect(await team.reasonOf(assertion)).toBe(reason);
  });
});
