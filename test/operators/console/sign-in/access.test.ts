import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { isAtLeast, type Role } from "../../../../src/operators/access/role.ts";
import { CONSOLE_CALLS } from "../../../../src/operators/console/calls.ts";
import { assertionOf, newTeamKey } from "../../../support/access-team.ts";
import { accessWorld, assertionFor, PEOPLE, personAt } from "../../../support/access-world.ts";
import { pathOf, prepared } from "../../../support/admin-calls.ts";
import { ConsolePage } from "../../../support/console-page.ts";
import { ConsoleVisitor } from "../../../support/console-visitor.ts";
import { ADMIN_TOKEN, NOW, type World } from "../../../support/world.ts";

afterEach(() => void vi.unstubAllGlobals());

const HEADER = "cf-access-jwt-assertion";

interface Row {
  action: string;
  who_kind: string | null;
  who_id: string | null;
  subject: string;
  details: string;
}

/** The audit rows that `act` writes. */
async function rowsOf(act: () => Promise<unknown>): Promise<Row[]> {
  const newest = await env.DB.prepare("SELECT coalesce(max(id), 0) AS id FROM audit_log").first<number>("id");
  await act();
  const rows = env.DB.prepare("SELECT * FROM audit_log WHERE id > ? ORDER BY id").bind(newest);
  return (await rows.all<Row>()).results;
}

const open = (world: World, assertion: string, path = "/console") =>
  new ConsoleVisitor(world).get(path, { [HEADER]: assertion });

describe("a person by Access", () => {
  it("the first request through Access signs the person in, and the same assertion opens no second session", async () => {
    const world = await accessWorld();
    const person = await personAt(world, "Bo@Example.com");
    const agent = { "user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0" };
    const rows = await rowsOf(async () => {
      expect((await person.get("/console", agent)).status).toBe(200);
      expect((await person.get("/console")).status).toBe(200);
    });
    expect(rows.map(({ action, who_kind, who_id }) => [action, who_kind, who_id])).toEqual([
      ["operator.signed_in", "person", "bo@example.com"],
    ]);
    const sessions = env.DB.prepare("SELECT * FROM console_sessions WHERE who_id = ? ORDER BY created_at").bind(
      PEOPLE.operator,
    );
    const storedSession = (await sessions.all()).results.at(-1);
    expect(storedSession).toMatchObject({
      who_kind: "person",
      who_name: PEOPLE.operator,
      browser: "Firefox, Linux",
      created_at: NOW,
      expires_at: NOW + 86_400,
      ended_at: null,
    });
  });

  it("a change by a person signed in by Access has their name and network in the audit log", async () => {
    const world = await accessWorld();
    const person = await personAt(world, PEOPLE.operator);
    const page = await person.open(`/console/sites/${world.siteId}/settings`);
    const rows = await rowsOf(() =>
      person.submit(page, "Rename", { Name: "By Bo" }, { "cf-connecting-ip": "192.0.2.77" }),
    );
    expect(rows).toMatchObject([
      {
        action: "site.renamed",
        actor: "console",
        who_kind: "person",
        who_id: PEOPLE.operator,
        address: "192.0.2.0/24",
      },
    ]);
  });

  it("a person signed in by Access has the highest role of the lists, which each request reads", async () => {
    const world = await accessWorld();
    const assertion = await assertionFor(PEOPLE.owner);
    expect((await open(world, assertion, "/console/homes/main/restored")).status).toBe(200);
    const loweredWorld = world.anotherIsolate({
      CONSOLE_OWNERS: "",
      CONSOLE_OPERATORS: "",
      CONSOLE_VIEWERS: PEOPLE.owner,
    } as never);
    expect((await open(loweredWorld, assertion, "/console/homes/main/restored")).status).toBe(403);
    expect((await open(loweredWorld, assertion)).status).toBe(200);
    const removedWorld = world.anotherIsolate({ CONSOLE_OWNERS: "", CONSOLE_OPERATORS: "" } as never);
    expect((await open(removedWorld, assertion)).status).toBe(403);
  });

  it("a person without a role who comes through Access gets 403, a page that names the address, and no session", async () => {
    const world = await accessWorld();
    const rows = await rowsOf(async () => {
      const answer = await open(world, await assertionFor("eve@elsewhere.example"));
      expect(answer.status).toBe(403);
      const text = await answer.text();
      expect(text).toContain("You have no role here");
      expect(text).toContain("eve@elsewhere.example");
      expect(text).not.toContain(`/console/sites/${world.siteId}`);
    });
    expect(rows).toMatchObject([
      {
        action: "operator.refused",
        who_kind: null,
        subject: "eve@elsewhere.example",
        details: '{"reason":"access_no_role","count":1}',
      },
    ]);
  });

  it("the sign-out button ends a session by Access: the same assertion stays refused, and a new one is accepted", async () => {
    const world = await accessWorld();
    const person = await personAt(world, PEOPLE.viewer);
    const rows = await rowsOf(async () => {
      const answer = await person.submit(await person.open("/console"), "Sign out");
      expect([answer.status, answer.headers.get("location")]).toEqual([303, "/cdn-cgi/access/logout"]);
    });
    expect(rows.map(({ action }) => action)).toEqual(["operator.signed_in", "operator.signed_out"]);
    const pageAgain = await ConsolePage.read(await person.get("/console"), "/console");
    expect([pageAgain.status, pageAgain.heading]).toEqual([401, "Sign in to the console"]);
    expect(pageAgain.text).toContain("You signed out, or somebody ended this session.");
    world.clock.now += 3_600;
    expect((await person.through(world.anotherIsolate()).get("/console")).status).toBe(401);
    expect((await (await personAt(world, PEOPLE.viewer)).get("/console")).status).toBe(200);
  });
});

describe("an assertion", () => {
  const other = newTeamKey("team");

  it.each<[string, () => Promise<string>, 401 | 403]>([
    ["of another key under the same name", async () => assertionOf(await other, { email: PEOPLE.owner }), 401],
    ["that has expired", () => assertionFor(PEOPLE.owner, { exp: NOW }), 401],
    ["that is not valid yet", () => assertionFor(PEOPLE.owner, { nbf: NOW + 1 }), 401],
    ["for another application", () => assertionFor(PEOPLE.owner, { aud: ["another"] }), 401],
    ["of another team", () => assertionFor(PEOPLE.owner, { iss: "https://other.cloudflareaccess.com" }), 401],
    ["without an e-mail address", () => assertionFor("", { email: undefined, common_name: "a service token" }), 403],
    ["that is garbage", async () => "garbage", 401],
    ["that is empty", async () => "", 401],
    ["without a signature", async () => `${(await assertionFor(PEOPLE.owner)).split(".").slice(0, 2).join(".")}.`, 401],
  ])("an Access assertion %s lets nobody in and shows nothing", async (_, make, status) => {
    const world = await accessWorld();
    const assertion = await make();
    const rows = await rowsOf(async () => {
      const site = `/console/sites/${world.siteId}`;
      const answer = await open(world, assertion, site);
      expect(answer.status).toBe(status);
      expect(await answer.text()).not.toContain(world.appid);
      const postAnswer = await new ConsoleVisitor(world).post(`${site}/close`, {}, { [HEADER]: assertion });
      expect(postAnswer.status).toBe(status);
    });
    expect(rows.map(({ action }) => action)).toEqual(["operator.refused"]);
    const site = await env.DB.prepare("SELECT status FROM sites WHERE id = ?").bind(world.siteId).first("status");
    expect(site).toBe("open");
  });

  it("refused Access assertions leave one audit row a minute, which counts those since the row before", async () => {
    const world = await accessWorld();
    const details = async (times: number) => {
      const rows = await rowsOf(async () => {
        for (let time = 0; time < times; time++) await open(world, "garbage");
      });
      return rows.map((row) => row.details);
    };
    expect(await details(4)).toEqual(['{"reason":"assertion_malformed","count":1}']);
    world.clock.now += 59;
    expect(await details(1)).toEqual([]);
    world.clock.now += 1;
    expect(await details(1)).toEqual(['{"reason":"assertion_malformed","count":5}']);
  });

  it("an Access assertion whose key cannot be fetched is 503 with Retry-After: 60", async () => {
    vi.spyOn(console, "warn").mockReturnValue();
    const world = await accessWorld();
    vi.stubGlobal("fetch", async () => new Response("down", { status: 502 }));
    const answer = await open(world, await assertionFor(PEOPLE.owner));
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "60"]);
    expect(await answer.text()).toContain("Its keys cannot be fetched now.");
  });

  it("an Access assertion opens neither the admin API nor a signed call", async () => {
    const world = await accessWorld();
    const headers = {
      [HEADER]: await assertionFor(PEOPLE.owner),
      cookie: `CF_Authorization=${await assertionFor(PEOPLE.owner)}`,
    };
    const admin = await world.fetch(new Request("https://worker/admin/sites", { headers }));
    expect(admin.status).toBe(401);
    const signedAnswer = await world.sendRaw("create_gd", JSON.stringify(world.createBody()), headers);
    expect(signedAnswer.status).toBe(401);
  });

  it("an Access assertion is ignored when the console accepts tokens only", async () => {
    const world = await accessWorld({ CONSOLE_SIGN_IN: "token" } as never);
    const answer = await open(world, await assertionFor(PEOPLE.owner));
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/console/sign-in?next=%2Fconsole"]);
  });

  it("an Access assertion with a form from another site changes nothing", async () => {
    const world = await accessWorld();
    const forged = {
      [HEADER]: await assertionFor(PEOPLE.owner),
      origin: "https://elsewhere.example",
      "sec-fetch-site": "cross-site",
    };
    const answer = await new ConsoleVisitor(world).post(`/console/sites/${world.siteId}/close`, {}, forged);
    expect(answer.status).toBe(403);
  });
});

describe("a console with Access only", () => {
  const only = { CONSOLE_SIGN_IN: "access" } as never;

  it("with CONSOLE_SIGN_IN = access, the console refuses the admin token and older cookies", async () => {
    const world = await accessWorld();
    const root = await ConsoleVisitor.signedIn(world);
    const shutWorld = world.anotherIsolate(only);
    expect((await root.through(shutWorld).get("/console")).status).toBe(401);
    const page = await new ConsoleVisitor(shutWorld).open("/console/sign-in");
    expect([page.status, page.text.includes('name="token"')]).toEqual([401, false]);
    const answer = await new ConsoleVisitor(shutWorld).post("/console/sign-in", { token: ADMIN_TOKEN });
    expect([answer.status, answer.headers.getSetCookie()]).toEqual([401, []]);
  });

  it("with wrong Access settings the console lets nobody in and says why, and signed calls work", async () => {
    vi.spyOn(console, "warn").mockReturnValue();
    const world = await accessWorld({ CONSOLE_SIGN_IN: "access", ACCESS_AUD: "" } as never);
    const page = await ConsolePage.read(await open(world, await assertionFor(PEOPLE.owner)), "/console");
    expect([page.status, page.text]).toEqual([401, expect.stringContaining("ACCESS_AUD is not set")]);
    expect((await world.create()).status).toBe(200);
  });
});

describe("a console with Access and token", () => {
  it("with CONSOLE_SIGN_IN = both, the admin token beside an Access assertion signs the root in", async () => {
    const world = await accessWorld();
    const person = await personAt(world, PEOPLE.viewer);
    const rows = await rowsOf(async () => {
      await person.post("/console/sign-in", { token: ADMIN_TOKEN });
      expect((await person.get("/console/homes/main/restored")).status).toBe(200);
    });
    expect(rows.map(({ action, who_kind }) => [action, who_kind])).toContainEqual(["operator.signed_in", "root"]);
  });
});

describe.each<[Role, string]>(Object.entries(PEOPLE) as [Role, string][])(
  "a person by Access with the role %s",
  (role, email) => {
    it("a person signed in by Access gets 403 for calls of higher roles and is let into calls of their own role", async () => {
      const world = await prepared(await accessWorld());
      const person = await personAt(world, email);
      const before = await world.operated();
      const low = CONSOLE_CALLS.filter((each) => each.role !== "anyone" && !isAtLeast(role, each.role));
      expect(low.length > 0).toBe(role !== "owner");
      for (const each of low) {
        const path = pathOf(each, world, { erasure_id: "of-nobody" }).replace("/admin", "/console").replace(/\/$/, "");
        const answer = each.method === "get" ? await person.get(path) : await person.post(path, {});
        expect([each.method, path, answer.status]).toEqual([each.method, path, 403]);
      }
      expect(await world.operated()).toEqual(before);
      await world.chatId({ sbs: "erased" });
      const eraseAnswer = await world.admin("POST", `/admin/sites/${world.siteId}/customers/erase`, { sbs: "erased" });
      const { erasure_id } = await eraseAnswer.json<{ erasure_id: string }>();
      for (const each of CONSOLE_CALLS.filter((one) => one.method === "get" && one.role === role)) {
        const path = pathOf(each, world, { erasure_id }).replace("/admin", "/console").replace(/\/$/, "");
        expect([path, (await person.get(path)).status]).toEqual([
          path,
          expect.toSatisfy((status: number) => ![401, 403, 404].includes(status)),
        ]);
      }
    });
  },
);
