import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { PERSON_ROLES } from "../../../../src/operators/access/role.ts";
import { accessWorld, PEOPLE, personAt } from "../../../support/access-world.ts";
import { ConsoleVisitor } from "../../../support/console-visitor.ts";
import { CountedLimit } from "../../../support/counted-limit.ts";
import { countingDb } from "../../../support/counting-db.ts";
import { newPerson, signedInPerson } from "../../../support/new-person.ts";
import { newToken, useToken } from "../../../support/new-token.ts";
import { tablesOf } from "../../../support/read-store.ts";
import { NOW, World } from "../../../support/world.ts";

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const DAY = 86_400;

const endsAt = (whoId: string) =>
  env.DB.prepare("SELECT ended_at FROM console_sessions WHERE who_id = ?").bind(whoId).first<number>("ended_at");

const tryToken = async (world: World, token: string) => {
  const visitor = new ConsoleVisitor(world);
  const page = await visitor.press(await visitor.open("/console/sign-in"), "Sign in", { Token: token });
  return { status: page.status, text: page.text, cookies: visitor.cookies };
};

describe("a person who signs in with a token of their own", () => {
  it("a person signs in on the sign-in page with their token, and the pages show their name and role", async () => {
    const world = await World.create();
    const { token, id } = await newPerson({ role: "viewer" });
    const visitor = new ConsoleVisitor(world);
    const signInPage = await visitor.open("/console/sign-in");
    expect((await visitor.press(signInPage, "Sign in", { Token: ` ${token} ` })).heading).toBe("Sites");
    const page = await visitor.open("/console/access");
    expect(page.text).toMatch(/Name Mei Signed in by own token Role viewer/);
    expect(page.html).not.toContain(token);
    const row = env.DB.prepare("SELECT last_used_at FROM people WHERE id = ?").bind(id);
    expect(await row.first("last_used_at")).toBe(NOW - (NOW % 3_600));
  });

  it("a change by a person with a token has their id and name in the audit log", async () => {
    const world = await World.create();
    const { visitor, id } = await signedInPerson(world);
    await visitor.press(await visitor.open(`/console/sites/${world.siteId}/settings`), "Rename", { Name: "By Mei" });
    const row = env.DB.prepare("SELECT * FROM audit_log WHERE site_id = ? AND action = 'site.renamed'");
    expect(await row.bind(world.siteId).first()).toMatchObject({
      actor: "console",
      who_kind: "person",
      who_id: id,
      who_name: "Mei",
    });
  });

  it("signing out ends the session of a person with a token and deletes the cookie, and does not lead to Cloudflare Access", async () => {
    const world = await World.create();
    const { visitor, id } = await signedInPerson(world);
    const copy = visitor.through(world);
    const answer = await visitor.submit(await visitor.open("/console"), "Sign out");
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/console/sign-in"]);
    expect([visitor.cookies.has("__Host-console"), await endsAt(id)]).toEqual([false, NOW]);
    expect((await copy.get("/console")).status).toBe(303);
  });

  it("a person whose access is ended is signed out at the next request, in every isolate", async () => {
    const world = await World.create();
    const { visitor, id } = await signedInPerson(world);
    const elsewhere = visitor.through(world.anotherIsolate());
    expect((await elsewhere.get("/console")).status).toBe(200);
    expect((await world.admin("DELETE", `/admin/people/${id}`)).status).toBe(204);
    for (const each of [visitor, elsewhere]) {
      const answer = await each.get("/console");
      expect([answer.status, answer.headers.get("location")]).toEqual([303, "/console/sign-in?next=%2Fconsole"]);
    }
  });

  it("a change of ADMIN_TOKEN ends the sessions of people with tokens, and their tokens sign in again", async () => {
    const world = await World.create();
    const { visitor, token } = await signedInPerson(world);
    const changed = world.anotherIsolate({ ADMIN_TOKEN: "another-token-of-32-characters-or-more" } as never);
    expect((await visitor.through(changed).get("/console")).status).toBe(303);
    expect((await tryToken(changed as World, token)).status).toBe(200);
  });

  it.each([
    ["has expired", { expiresAt: NOW }, "", "This token has expired: whoever runs this console can make another."],
    ["was ended", { deletedAt: NOW }, "", "This token signs nobody in: it was ended, or it is of another console."],
    ["has a slip", {}, "x", "A character of this token is wrong or missing: copy it again, whole."],
  ])("the sign-in page says of a person's token that it %s, and signs nobody in", async (_, change, slip, words) => {
    const { token } = await newPerson(change);
    const { status, text, cookies } = await tryToken(await World.create(), token + slip);
    expect([status, cookies.has("__Host-console")]).toEqual([401, false]);
    expect(text).toContain(words);
  });

  it("failed tries with people's tokens count for the client address as those with the admin token do", async () => {
    const limit = new CountedLimit(2);
    const world = await World.create({ CLIENT_LIMIT: limit } as never);
    const { token } = await newPerson({ deletedAt: NOW });
    const from = { "cf-connecting-ip": "192.0.2.9" };
    const visitor = new ConsoleVisitor(world, from);
    const statuses: number[] = [];
    for (const each of [token, `${token}x`, token]) {
      statuses.push((await visitor.post("/console/sign-in", { token: each })).status);
    }
    expect(statuses).toEqual([401, 401, 429]);
    expect(new Set(limit.keys)).toEqual(new Set(["operator 192.0.2.9"]));
  });

  it("with CONSOLE_SIGN_IN = access a person's token signs nobody in, and its older sessions are refused", async () => {
    const world = await accessWorld();
    const { visitor, token } = await signedInPerson(world);
    const shut = world.anotherIsolate({ CONSOLE_SIGN_IN: "access" } as never);
    expect((await visitor.through(shut).get("/console")).status).toBe(401);
    const answer = await new ConsoleVisitor(shut).post("/console/sign-in", { token });
    expect([answer.status, answer.headers.getSetCookie()]).toEqual([401, []]);
  });
});

it("a person's token is in no log line and in no table, after signing in, a slip, and a try at the admin API", async () => {
  const logged: string[] = [];
  for (const method of ["log", "info", "warn", "error", "debug"] as const)
    vi.spyOn(console, method).mockImplementation((...args: unknown[]) => void logged.push(args.map(String).join(" ")));
  const world = await World.create();
  const { token } = await signedInPerson(world);
  await tryToken(world, `${token}x`);
  await useToken(world, token, "GET", "/admin/sites");
  await useToken(world, `${token}x`, "GET", "/admin/sites");
  const digits = token.slice(4, -6);
  expect(logged.length).toBeGreaterThan(3);
  expect(logged.filter((line) => line.includes(digits))).toEqual([]);
  expect(JSON.stringify(await tablesOf(env.DB))).not.toContain(digits);
});

describe("a person's token at the admin API", () => {
  it.each([
    ["", "This is a person's token: it signs in at the console, and opens no call of the admin API."],
    ["x", "This is a person's token, and a character of it is wrong or missing."],
  ])(
    "a person's token with %j behind it is 401 at the admin API, and the detail says what it is for",
    async (slip, detail) => {
      const world = await World.create();
      const { token } = await newPerson({ role: "owner" });
      const answer = await useToken(world, token + slip, "GET", "/admin/sites");
      expect(answer).toMatchObject({ status: 401, body: { detail: expect.stringContaining(detail) } });
    },
  );

  it("a token for programs signs nobody in, whatever its role", async () => {
    const { token } = await newToken({ role: "owner" });
    const { status, text } = await tryToken(await World.create(), token);
    expect([status, text.includes("This is a token for programs. It opens the admin API")]).toEqual([401, true]);
  });
});

describe("a person whose e-mail address has a row", () => {
  it("an address with a row and no role in the settings comes in by Access with the role and site of the row, until it is ended", async () => {
    const world = await accessWorld();
    const email = "dora@elsewhere.example";
    const { id } = await newPerson({ email, role: "operator", siteId: world.siteId });
    const visitor = await personAt(world, "Dora@Elsewhere.example");
    expect((await visitor.open("/console/access")).text).toMatch(
      /dora@elsewhere\.example Signed in by Cloudflare Access Role operator Site/,
    );
    expect((await visitor.get("/console/homes")).status).toBe(403);
    await world.admin("DELETE", `/admin/people/${id}`);
    const refused = await visitor.open("/console");
    expect([refused.status, refused.heading]).toEqual([403, "You have no role here"]);
    expect(await endsAt(email)).toBe(NOW);
  });

  it("a row whose end has come lets nobody in by Access", async () => {
    const world = await accessWorld();
    const email = "ended@elsewhere.example";
    await newPerson({ email, expiresAt: NOW + 60 });
    const visitor = await personAt(world, email);
    expect((await visitor.get("/console")).status).toBe(200);
    world.clock.now = NOW + 60;
    expect((await visitor.get("/console")).status).toBe(403);
  });

  it("somebody whose row is ended and whom the settings name too signs in at Access again, with the role of the settings", async () => {
    const world = await accessWorld();
    const { id } = await newPerson({ email: PEOPLE.operator, role: "owner" });
    const visitor = await personAt(world, PEOPLE.operator);
    expect((await visitor.get("/console/homes/main/restored")).status).toBe(200);
    await world.admin("DELETE", `/admin/people/${id}`);
    expect((await visitor.get("/console")).status).toBe(401);
    const again = await personAt(world, PEOPLE.operator);
    expect((await again.get("/console")).status).toBe(200);
    expect((await again.get("/console/homes/main/restored")).status).toBe(403);
  });

  it("an address that looks like one with a row comes in by neither the row nor the settings: the Kelvin sign is no k", async () => {
    const world = await accessWorld();
    await newPerson({ email: "kim@elsewhere.example" });
    expect((await (await personAt(world, "KIM@elsewhere.example")).get("/console")).status).toBe(200);
    expect((await (await personAt(world, "\u212aim@elsewhere.example")).get("/console")).status).toBe(403);
  });
});

describe("the sessions of people", () => {
  it("a person sees and ends only their own sessions, and an owner sees everyone's", async () => {
    const world = await World.create();
    const [own, other] = [await signedInPerson(world, { name: "Mei" }), await signedInPerson(world, { name: "Noor" })];
    await new ConsoleVisitor(world).post("/console/sign-in", { token: own.token });
    const page = await own.visitor.open("/console/access");
    expect([page.text.includes("Your open console sessions"), page.text.includes("Noor")]).toEqual([true, false]);
    const session = env.DB.prepare("SELECT id FROM console_sessions WHERE who_id = ?").bind(other.id);
    const name = ((await session.first<string>("id")) ?? "").slice(0, 16);
    const answer = await own.visitor.post(`/console/access/${name}/end`, { form: page.value("form") });
    expect([answer.status, await endsAt(other.id)]).toEqual([404, null]);
    const { visitor: owner } = await signedInPerson(world, { role: "owner" });
    expect((await owner.open("/console/access")).text).toMatch(/Open console sessions of everyone.*Noor/);
  });
});

describe("the limits of people", () => {
  it.each(["a token", "an e-mail address"])(
    "a person with %s over the limit gets a page with Retry-After, and the root has no limit",
    async (way) => {
      const limit = new CountedLimit(2);
      const log = vi.spyOn(console, "log").mockReturnValue();
      const world = await accessWorld({ TOKEN_READS: limit });
      const { visitor, key } =
        way === "a token"
          ? await signedInPerson(world).then(({ visitor, id }) => ({ visitor, key: id }))
          : { visitor: await personAt(world, PEOPLE.viewer), key: PEOPLE.viewer };
      for (let n = 0; n < 2; n++) expect((await visitor.get("/console")).status).toBe(200);
      const answer = await visitor.get("/console");
      expect([answer.status, answer.headers.get("retry-after")]).toEqual([429, "10"]);
      expect(await answer.text()).toContain("Wait 10 seconds, and then try again.");
      expect(limit.keys).toEqual(Array(3).fill(`person_reads ${key}`));
      const line = JSON.parse(String(log.mock.lastCall?.[0])) as Record<string, string>;
      expect(line).toMatchObject({ status: 429, reason: "person_reads" });
      expect(line.detail).toBe(way === "a token" ? `The person ${key} reads too much.` : "A person reads too much.");
      const root = await ConsoleVisitor.signedIn(world);
      for (let n = 0; n < 4; n++) expect((await root.get("/console")).status).toBe(200);
    },
  );

  it("a person over the limit of changes changes nothing", async () => {
    // The sign-in counts, too.
    const world = await World.create({ TOKEN_CHANGES: new CountedLimit(1) });
    const { visitor } = await signedInPerson(world);
    const page = await visitor.open(`/console/sites/${world.siteId}/settings`);
    expect((await visitor.submit(page, "Rename", { Name: "Too much" })).status).toBe(429);
    const name = env.DB.prepare("SELECT name FROM sites WHERE id = ?").bind(world.siteId);
    expect(await name.first("name")).not.toBe("Too much");
  });

  it("sign-ins with a person's token count as their changes: over the limit one opens no session, and the root's goes on", async () => {
    const limit = new CountedLimit(2);
    const world = await World.create({ TOKEN_CHANGES: limit });
    const { token, id } = await newPerson();
    for (let n = 0; n < 2; n++) expect((await tryToken(world, token)).status).toBe(200);
    const answer = await new ConsoleVisitor(world).post("/console/sign-in", { token });
    expect([answer.status, answer.headers.get("retry-after"), answer.headers.getSetCookie()]).toEqual([429, "10", []]);
    expect(await answer.text()).toContain("Wait 10 seconds, and then try again.");
    expect(limit.keys).toEqual(Array(3).fill(`person_changes ${id}`));
    for (const about of ["console_sessions WHERE who_id", "audit_log WHERE action = 'operator.signed_in' AND who_id"])
      expect(await env.DB.prepare(`SELECT count(*) AS n FROM ${about} = ?`).bind(id).first("n")).toBe(2);
    await ConsoleVisitor.signedIn(world);
  });

  it("somebody without a role who comes by Access often costs no more reads of the directory, and is let in a minute later", async () => {
    const { db, trips } = countingDb(env.DB);
    const world = await accessWorld({ CLIENT_LIMIT: new CountedLimit(2), DB: db });
    const email = "eve@elsewhere.example";
    const visitor = await personAt(world, email);
    const statusOf = async () => (await visitor.get("/console")).status;
    for (let n = 0; n < 3; n++) expect(await statusOf()).toBe(403);
    const before = { ...trips };
    for (let n = 0; n < 3; n++) expect(await statusOf()).toBe(403);
    expect(trips).toEqual(before);
    await newPerson({ email });
    world.clock.now = NOW + 60;
    expect(await statusOf()).toBe(200);
  });

  it("the cookie of somebody whose access was ended, sent often, costs no more reads of the directory", async () => {
    const { db, trips } = countingDb(env.DB);
    const world = await World.create({ CLIENT_LIMIT: new CountedLimit(2), DB: db });
    const { visitor, id } = await signedInPerson(world);
    await world.admin("DELETE", `/admin/people/${id}`);
    const statusOf = async () => (await visitor.get("/console/sign-in")).status;
    for (let n = 0; n < 3; n++) expect(await statusOf()).toBe(200);
    const before = { ...trips };
    for (let n = 0; n < 3; n++) expect(await statusOf()).toBe(200);
    expect(trips).toEqual(before);
    expect((await (await ConsoleVisitor.signedIn(world)).get("/console")).status).toBe(200);
  });

  it("a person's requests of pages for anyone count too, and signing out is possible over the limit", async () => {
    const world = await World.create({ TOKEN_READS: new CountedLimit(2), TOKEN_CHANGES: new CountedLimit(2) });
    const { visitor, id } = await signedInPerson(world);
    const page = await visitor.open("/console");
    const read = () => visitor.get("/console/sign-in").then(({ status }) => status);
    const change = () => visitor.post("/console/language", { language: "zh" }).then(({ status }) => status);
    expect([await read(), await read(), await change(), await change()]).toEqual([303, 429, 303, 429]);
    expect([(await visitor.submit(page, "Sign out")).status, await endsAt(id)]).toEqual([303, NOW]);
  });

  it("calls of a person that have ended make room for others", async () => {
    const world = await World.create();
    const { visitor } = await signedInPerson(world);
    for (let n = 0; n < 20; n++) expect((await visitor.get("/console/access")).status).toBe(200);
  });
});

it.each(PERSON_ROLES)("a person with the role %s is served what the role may see", async (role) => {
  const world = await World.create();
  const { visitor } = await signedInPerson(world, { role, expiresAt: NOW + DAY });
  expect((await visitor.get("/console/homes/main/restored")).status).toBe(role === "owner" ? 200 : 403);
  expect((await visitor.get(`/console/sites/${world.siteId}/close`)).status).toBe(role === "viewer" ? 403 : 200);
});
